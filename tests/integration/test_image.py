"""The image by itself: what `docker run` gives, and what is not inside."""

import email.parser
import hashlib
import json
import tomllib
from pathlib import Path

import pytest
from conftest import FOREIGN, HOST, PEERS, ROOT, docker
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.utils import canonicalize_name

from runner.cli.words.introduction import INTRODUCTION
from runner.matrix import load_matrix

PACKAGE = "rust/crates/torchforge-py"
# This module writes a file whose bytes are kept.
SAME_FILE = "Data::test_a_file_has_the_bytes_that_pyarrow_reads_without_a_copy"


def test_docker_run_with_a_benchmark_prints_its_table_on_stdout_and_the_log_on_stderr(images):
    result = docker("run", "--rm", "--network", "none", "forge-bench", "dqn", "--profile", "smoke")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("#")
    assert "| " in result.stdout
    assert "rust" in result.stdout
    assert "unknown" in result.stdout, "the execution is unknown"
    assert "records are not kept" in result.stderr


def test_without_a_word_the_image_explains_itself(images):
    alone = docker("run", "--rm", "--network", "none", "forge-bench")
    assert alone.returncode == 0, alone.stderr
    assert alone.stdout == INTRODUCTION


def test_list_and_help_answer_at_once(images):
    listing = docker("run", "--rm", "--network", "none", "forge-bench", "list")
    assert listing.returncode == 0
    assert "gae" in listing.stdout
    usage = docker("run", "--rm", "--network", "none", "forge-bench", "--help")
    assert usage.returncode == 0
    assert "commands:" in usage.stdout


def test_records_land_in_a_mounted_directory_or_it_says_why_they_cannot(images, tmp_path):
    tmp_path.chmod(0o777)
    command = [
        "run",
        "--rm",
        "--network",
        "none",
        "-v",
        f"{tmp_path}:/results",
        "forge-bench",
        "gae",
        "--profile",
        "smoke",
    ]
    assert docker(*command).returncode == 0
    assert list(tmp_path.glob("records/gae/*.json"))
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o755)
    command[5] = f"{closed}:/results"
    result = docker(*command)
    assert result.returncode == 0
    assert "records are not kept" in result.stderr
    assert "chown 65532" in result.stderr


def test_no_build_tool_certificate_or_package_list_is_inside(images):
    script = (
        "import json, os, pathlib, shutil\n"
        "tools = [t for t in ('gcc', 'cc', 'ld', 'cargo', 'rustc', 'pip', 'uv', 'apt-get', 'make') if shutil.which(t)]\n"
        "certificates = [str(p) for p in pathlib.Path('/etc/ssl').rglob('*.crt')] if os.path.isdir('/etc/ssl') else []\n"
        "lists = os.listdir('/var/lib/apt/lists') if os.path.isdir('/var/lib/apt/lists') else []\n"
        "print(json.dumps([tools, certificates, lists]))"
    )
    result = docker(
        "run", "--rm", "--network", "none", "--entrypoint", "python3", "forge-bench", "-c", script
    )
    assert json.loads(result.stdout) == [[], [], []], result.stderr


def test_each_image_names_what_it_was_made_of(images):
    for architecture in (HOST, FOREIGN):
        labels = json.loads(
            docker(
                "image", "inspect", f"forge-bench:{architecture}", "--format", "{{json .Config.Labels}}"
            ).stdout
        )
        baked = json.loads(
            docker(
                "run", "--rm", "--network", "none", "--entrypoint", "cat", f"forge-bench:{architecture}",
                "/opt/forge-bench/image.json",
            ).stdout
        )  # fmt: skip
        assert baked["identity"] in labels.values()
        assert baked["architecture"] == architecture
        assert baked["packages"]["python3-torch"].startswith("2.6.0")


def unpacked(image: str, directory: Path) -> Path:
    """What the bill speaks of, copied out of the image: nothing of it is started, so any architecture will do."""
    container = docker("create", image).stdout.strip()
    try:
        for path in ("/opt/forge-bench", "/var/lib/dpkg/status", "/usr/bin/torchforge"):
            assert docker("cp", f"{container}:{path}", str(directory)).returncode == 0
    finally:
        docker("rm", container)
    return directory


@pytest.mark.parametrize("image", [("core", HOST), ("core", FOREIGN), ("peers", "amd64")])
def test_the_bill_of_materials_is_valid_and_names_exactly_what_is_inside(images, image, tmp_path):
    target, architecture = image
    toolchain, *_ = load_matrix(ROOT / "matrix.yaml").toolchains
    inside = unpacked(f"forge-bench:{target}-{toolchain}-{architecture}", tmp_path)
    text = (inside / "forge-bench" / "sbom.json").read_text(encoding="utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    parts = json.loads(text)["components"]
    by_kind = {
        kind: {(each["name"], each["version"]) for each in parts if each["purl"].startswith(f"pkg:{kind}/")}
        for kind in ("deb", "pypi", "cargo", "generic")
    }

    status = [
        email.parser.Parser().parsestr(paragraph)
        for paragraph in (inside / "status").read_text(encoding="utf-8").split("\n\n")
        if paragraph.strip()
    ]
    installed = {(each["Package"], each["Version"]) for each in status}
    assert len(installed) > 100
    assert {each for each in by_kind["deb"] if not each[0].startswith("libstd-rust")} == installed

    wheels = [
        email.parser.Parser().parsestr(path.read_text(encoding="utf-8"))
        for path in (inside / "forge-bench" / "site-packages").glob("*.dist-info/METADATA")
    ]
    assert by_kind["pypi"] == {(canonicalize_name(each["Name"]), each["Version"]) for each in wheels}
    assert ("torchrl" in {name for name, _ in by_kind["pypi"]}) == (target == "peers")

    locked = tomllib.loads((ROOT / "rust" / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    assert by_kind["cargo"] <= {(each["name"], each["version"]) for each in locked}
    assert {"pyo3", "ndarray", "serde_json"} <= {name for name, _ in by_kind["cargo"]}
    assert not {"criterion", "proptest"} & {name for name, _ in by_kind["cargo"]}, (
        "what only tests is not shipped"
    )

    binary = next(each for each in parts if each["name"] == "torchforge")
    assert binary["hashes"][0]["content"] == hashlib.sha256((inside / "torchforge").read_bytes()).hexdigest()
    # Every package of Debian by the checksum of the file that it came in.
    assert all("hashes" in each for each in parts if each["purl"].startswith(("pkg:deb/", "pkg:cargo/")))


@pytest.mark.parametrize("architecture", [HOST, FOREIGN])
def test_whoever_passes_an_image_on_passes_the_licences_of_all_that_is_inside_on(
    images, architecture, tmp_path
):
    image = f"forge-bench:{architecture}"
    inside = unpacked(image, tmp_path)
    container = docker("create", image).stdout.strip()
    try:
        for path in ("/usr/share/doc", "/usr/share/common-licenses"):
            assert docker("cp", f"{container}:{path}", str(inside)).returncode == 0
    finally:
        docker("rm", container)
    packages = [
        line.removeprefix("Package: ")
        for line in (inside / "status").read_text(encoding="utf-8").splitlines()
        if line.startswith("Package: ")
    ]
    assert len(packages) > 100
    assert [name for name in packages if not (inside / "doc" / name / "copyright").is_file()] == []
    assert (inside / "common-licenses" / "GPL-3").is_file(), "notices point there"
    assert [path for path in (inside / "doc").rglob("*") if path.is_file() and path.name != "copyright"] == []

    notices = inside / "forge-bench" / "licenses"
    assert (inside / "forge-bench" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert list(notices.glob("libstd-rust-web*/copyright"))
    parts = json.loads((inside / "forge-bench" / "sbom.json").read_text(encoding="utf-8"))["components"]
    crates = [each for each in parts if each["purl"].startswith("pkg:cargo/")]
    assert all(each.get("licenses") for each in crates)
    noticed = [each for each in crates if (notices / f"{each['name']}-{each['version']}").is_dir()]
    # Hardly a crate is published without its own text.
    assert len(noticed) > 0.9 * len(crates)


def test_a_read_only_container_runs_with_a_temporary_directory_and_says_so_without(images):
    common = ("--read-only", "--rm", "--network", "none")
    without = docker("run", *common, "forge-bench", "gae", "--profile", "smoke")
    assert without.returncode == 8
    assert "--tmpfs /tmp" in without.stderr
    assert "Traceback" not in without.stderr
    run = docker(
        "run", *common, "--tmpfs", "/tmp", "forge-bench", "gae", "--profile", "smoke", "--only", "gae/rust"
    )
    assert run.returncode == 0, run.stderr


def test_the_baselines_own_tests_and_the_modules_pass_inside_the_image(images, packages_for_the_image):
    # On another architecture the peers' own tests would be emulated for hours.
    image, left_out = (PEERS, []) if HOST == "amd64" else (f"forge-bench:{HOST}", ["peers"])
    result = docker(
        "run", "--rm", "--network", "none", "--entrypoint", "python3",
        "-v", f"{packages_for_the_image}:/pytest:ro", "-v", f"{ROOT / 'tests'}:/checkout/tests:ro",
        "-v", f"{ROOT / PACKAGE}:/checkout/{PACKAGE}:ro",
        "-e", "PYTHONPATH=/opt/forge-bench:/opt/forge-bench/site-packages:/pytest",
        image, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", "/checkout", "--confcutdir", "/checkout",
        *(f"--ignore=/checkout/tests/image/baselines/{each}" for each in left_out),
        "/checkout/tests/image", f"/checkout/{PACKAGE}/tests",
        # Two slow cores took 13 minutes beside the smoke profile.
        timeout=1800,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    assert "skipped" not in result.stdout


def test_environments_and_files_are_the_same_to_the_bit_on_the_foreign_architecture(
    images, packages_for_the_image
):
    # On the host's own architecture the test above compares them with Gymnasium and with the kept file.
    result = docker(
        "run", "--rm", "--network", "none", "--entrypoint", "python3",
        "-v", f"{packages_for_the_image}:/pytest:ro", "-v", f"{ROOT / 'tests'}:/checkout/tests:ro",
        "-v", f"{ROOT / PACKAGE}:/checkout/{PACKAGE}:ro",
        "-e", "PYTHONPATH=/opt/forge-bench:/opt/forge-bench/site-packages:/pytest",
        "-e", "ENVIRONMENT_STEPS=10000",
        f"forge-bench:{FOREIGN}", "-m", "pytest", "-q", "-p", "no:cacheprovider",
        "--rootdir", "/checkout", "--confcutdir", "/checkout", "/checkout/tests/image/environments",
        f"/checkout/{PACKAGE}/tests/test_data.py::{SAME_FILE}",
        timeout=1800,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    assert "skipped" not in result.stdout
