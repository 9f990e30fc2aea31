"""The image by itself: what `docker run` gives, and what is not inside."""

import json

from conftest import FOREIGN, HOST, ROOT, docker


def test_docker_run_with_a_benchmark_prints_its_table_on_stdout_and_the_log_on_stderr(images):
    result = docker("run", "--rm", "--network", "none", "forge-bench", "dqn", "--profile", "smoke")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("#")
    assert "| " in result.stdout
    assert "rust" in result.stdout
    assert "unknown" in result.stdout, "nobody said how it is executed"
    assert "records are not kept" in result.stderr


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


def test_the_baselines_own_tests_pass_inside_the_image(images, packages_for_the_image):
    result = docker(
        "run", "--rm", "--network", "none", "--entrypoint", "python3",
        "-v", f"{packages_for_the_image}:/pytest:ro", "-v", f"{ROOT / 'tests'}:/checkout/tests:ro",
        "-e", "PYTHONPATH=/opt/forge-bench:/opt/forge-bench/site-packages:/pytest",
        "forge-bench:peers", "-m", "pytest", "-q", "-p", "no:cacheprovider",
        "--rootdir", "/checkout", "--confcutdir", "/checkout", "/checkout/tests/image",
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    assert "skipped" not in result.stdout
