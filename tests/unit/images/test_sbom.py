"""The bill of materials: every part by its package URL and checksum, the same bytes for the same inputs."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import FormatChecker
from packageurl import PackageURL

PROGRAM = Path(__file__).parents[3] / "docker" / "sbom.py"
STATUS = """Package: libc6
Status: install ok installed
Architecture: arm64
Version: 2.41-12+deb13u4

Package: python3-numpy
Description: numbers
 Version: 0 is what a continuation line may look like
Architecture: arm64
Version: 1:2.2.4+ds-1

"""
IMAGE_LOCK = f"""# name version architecture bytes sha256 path
libc6 2.41-12+deb13u4 arm64 10 {"a" * 64} pool/libc6.deb
python3-numpy 1:2.2.4+ds-1 arm64 10 {"b" * 64} pool/numpy.deb
"""
TOOLS_LOCK = f"""# name version architecture bytes sha256 path
libstd-rust-web-dev 1.96.0+dfsg1-1 amd64 10 {"c" * 64} pool/x.deb
libstd-rust-web-dev 1.96.0+dfsg1-1 arm64 10 {"d" * 64} pool/y.deb
"""
CARGO_LOCK = f"""version = 4
[[package]]
name = "matrixmultiply"
version = "0.3.11"
checksum = "{"e" * 64}"
[[package]]
name = "torchforge-nn"
version = "0.1.0"
"""
CRATES = """
matrixmultiply v0.3.11|MIT/Apache-2.0
torchforge-nn v0.1.0 (/rust/crates/torchforge-nn)|Apache-2.0
"""
METADATA = """Metadata-Version: 2.4
Name: Jinja2_Like.Name
Version: 3.1.6
License-Expression: BSD-3-Clause

Name: not this one
"""


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sbom", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {
        "status": STATUS,
        "image.lock": IMAGE_LOCK,
        "tools.lock": TOOLS_LOCK,
        "Cargo.lock": CARGO_LOCK,
        "artefacts/crates/torchforge": CRATES,
        "artefacts/bin/torchforge": "binary",
        "artefacts/bin/torchforge.compile-seconds": "12.3",
        "artefacts/site-packages/torchforge/_torchforge.abi3.so": "module",
        "site-packages/jinja2.dist-info/METADATA": METADATA,
        "pyproject.toml": '[project]\nversion = "0.1.0"\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name in ("IMAGE_TARGET", "TOOLCHAIN", "SUITE", "RUST", "PYTHON", "PYTORCH"):
        monkeypatch.setenv(name, name.lower())
    monkeypatch.setenv("TARGETARCH", "arm64")
    monkeypatch.setenv("IDENTITY", "0" * 64)
    return tmp_path


def bill(inputs: Path, capsys: pytest.CaptureFixture[str]) -> str:
    load().main(inputs)
    return capsys.readouterr().out


def test_the_bill_is_valid_cyclonedx(inputs, capsys):
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill(inputs, capsys)) is None


def test_every_part_is_there_by_its_package_url_with_the_checksum_that_is_known(inputs, capsys):
    found = {
        each["purl"]: each.get("hashes", [{}])[0].get("content")
        for each in json.loads(bill(inputs, capsys))["components"]
    }
    ours = {purl: value for purl, value in found.items() if purl.startswith("pkg:generic/")}
    assert {purl: value for purl, value in found.items() if purl not in ours} == {
        "pkg:deb/debian/libc6@2.41-12%2Bdeb13u4?arch=arm64": "a" * 64,
        "pkg:deb/debian/python3-numpy@1:2.2.4%2Bds-1?arch=arm64": "b" * 64,
        "pkg:deb/debian/libstd-rust-web-dev@1.96.0%2Bdfsg1-1?arch=arm64": "d" * 64,
        "pkg:pypi/jinja2-like-name@3.1.6": None,
        "pkg:cargo/matrixmultiply@0.3.11": "e" * 64,
    }
    assert {purl.partition("@")[0].removeprefix("pkg:generic/forge-bench/") for purl in ours} == {
        "torchforge",
        "torchforge-nn",
        "_torchforge.abi3.so",
    }


def test_several_programs_are_all_in_the_bill_and_a_crate_of_two_of_them_once(inputs, capsys):
    (inputs / "artefacts/crates/torchforge-burn").write_text(CRATES, encoding="utf-8")
    (inputs / "artefacts/bin/torchforge-burn").write_text("another", encoding="utf-8")
    names = [each["name"] for each in json.loads(bill(inputs, capsys))["components"]]
    assert {"torchforge", "torchforge-burn"} <= set(names)
    assert len(names) == len(set(names))


def test_the_bill_of_an_edge_image_holds_what_is_linked_into_its_one_binary(inputs, capsys, monkeypatch):
    for name in ("status", "image.lock", "artefacts/site-packages/torchforge/_torchforge.abi3.so"):
        (inputs / name).unlink()
    (inputs / "site-packages" / "jinja2.dist-info" / "METADATA").unlink()
    cross = f"""libc6-dev 2.41-12 amd64 10 {"1" * 64} pool/a.deb
libc6-dev-arm64-cross 2.41-11cross1 all 10 {"2" * 64} pool/b.deb
libgcc-14-dev 14.2.0-19 amd64 10 {"3" * 64} pool/c.deb
libgcc-14-dev-arm64-cross 14.2.0-19cross1 all 10 {"4" * 64} pool/d.deb
"""
    (inputs / "tools.lock").write_text(TOOLS_LOCK + cross, encoding="utf-8")
    monkeypatch.setenv("IMAGE_TARGET", "edge")
    for architecture, checksums in (("arm64", {"2" * 64, "4" * 64}), ("amd64", {"1" * 64, "3" * 64})):
        monkeypatch.setenv("TARGETARCH", architecture)
        found = {each["name"]: each for each in json.loads(bill(inputs, capsys))["components"]}
        linked = {name: each for name, each in found.items() if name.startswith(("libc6", "libgcc"))}
        assert {each["hashes"][0]["content"] for each in linked.values()} == checksums
        assert {*found} - {*linked} == {
            "torchforge",
            "torchforge-nn",
            "matrixmultiply",
            "libstd-rust-web-dev",
        }


def test_licences_are_said_where_the_package_says_them(inputs, capsys):
    said = {
        each["name"]: each["licenses"][0]["expression"]
        for each in json.loads(bill(inputs, capsys))["components"]
        if "licenses" in each
    }
    assert said == {
        "jinja2-like-name": "BSD-3-Clause",
        "matrixmultiply": "MIT OR Apache-2.0",
        "torchforge-nn": "Apache-2.0",
    }


def test_the_same_inputs_give_the_same_bytes_and_another_image_another_number(inputs, capsys, monkeypatch):
    first = bill(inputs, capsys)
    assert bill(inputs, capsys) == first
    monkeypatch.setenv("IDENTITY", "1" * 64)
    assert json.loads(bill(inputs, capsys))["serialNumber"] != json.loads(first)["serialNumber"]


def test_a_package_that_is_not_locked_stops_the_build_by_name(inputs):
    (inputs / "status").write_text(STATUS.replace("2.41-12+deb13u4", "2.41-13"), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"libc6 2\.41-13 arm64"):
        load().main(inputs)


@given(
    st.from_regex(r"[a-z0-9][a-z0-9+.-]{1,20}", fullmatch=True),
    st.from_regex(r"([0-9]:)?[0-9][A-Za-z0-9.+~-]{0,20}", fullmatch=True),
)
def test_a_package_url_is_the_one_that_the_reference_library_writes(name, version):
    found = load().purl("deb", f"debian/{name}", version, arch="amd64")
    read = PackageURL.from_string(found)
    assert (read.namespace, read.name, read.version) == ("debian", name, version)
    assert read.to_string() == found


@pytest.mark.parametrize(
    ("text", "valid"), [("https://example.org/x", True), ("https://example.org/a b", False)]
)
def test_the_library_that_reads_a_bill_knows_an_address_when_it_sees_one(text, valid):
    """Its grammars are built here and not where tests are collected (tests/unit/grammars_on_request.py)."""
    assert FormatChecker().conforms(text, "iri") is valid
