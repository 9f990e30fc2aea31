"""The wheel in virtual environments of its own: needs `make wheel` and the network, each week."""

import base64
import csv
import hashlib
import platform
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "rust" / "crates" / "torchforge-py"
UV = ROOT / ".venv" / "bin" / "uv"
# The oldest that the wheel is for, the one inside the images, and the newest.
VERSIONS = ("3.11", "3.13", "3.14")

TYPED = """\
import numpy as np
import torchforge
import torchforge.envs
from numpy.typing import NDArray
from torchforge.agents import DQN

zeros = np.zeros(4)
advantages: NDArray[np.float64] = torchforge.compute_gae(zeros, zeros, zeros, 0.0, 0.99, 0.95)[0]
environments = torchforge.envs.VectorEnv("CartPole-v1", 2)
rewards: NDArray[np.float64] = environments.collect(8).rewards
action = DQN("CartPole-v1", seed=1).predict([0.0, 0.1, 0.02, -0.1])
"""


def run(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def wheel() -> Path:
    found = sorted((ROOT / "dist").glob(f"torchforge_rl-*manylinux*_{platform.machine()}.whl"))
    assert found, "there is no wheel in dist/; to do: make wheel"
    return found[-1]


def environment(folder: Path, version: str, *packages: object) -> Path:
    """The Python of a new virtual environment with these packages."""
    made = run(UV, "venv", "--quiet", "--no-python-downloads", "--python", version, folder, cwd=ROOT)
    if made.returncode != 0:
        pytest.skip(f"this machine has no Python {version}")
    python = folder / "bin" / "python"
    installed = run(UV, "pip", "install", "--quiet", "--python", python, *packages, cwd=ROOT)
    assert installed.returncode == 0, installed.stderr
    return python


@pytest.fixture(scope="module", params=VERSIONS)
def python(wheel: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("python") / "with-gymnasium"
    return environment(folder, request.param, wheel, "gymnasium==1.2.3", "mypy")


def readme() -> list[str]:
    return re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(encoding="utf-8"), re.DOTALL)


def test_it_holds_types_and_notices_and_its_list_of_files_is_right(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    (folder,) = {name.split("/")[0] for name in files if ".dist-info/" in name}
    assert {"torchforge/py.typed", "torchforge/_torchforge.pyi"} <= files.keys()
    assert files[f"{folder}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    notices = files[f"{folder}/licenses/THIRD-PARTY-NOTICES.txt"].decode()
    for holder in ("pyo3 ", "numpy ", "serde_json ", "Rust's standard library"):
        assert holder in notices
    metadata = files[f"{folder}/METADATA"].decode()
    assert "License-File: THIRD-PARTY-NOTICES.txt\n" in metadata
    assert (PACKAGE / "README.md").read_text(encoding="utf-8").strip() in metadata
    listed = list(csv.reader(files[f"{folder}/RECORD"].decode().splitlines()))
    assert {name for name, *_ in listed} == files.keys()
    for name, digest, size in listed:
        if digest:
            found = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == (f"sha256={found}", len(files[name]))


def test_the_readmes_examples_run(python: Path, tmp_path: Path) -> None:
    for example in readme():
        done = run(python, "-W", "error", "-c", example, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()


def test_the_packages_own_tests_pass(python: Path, tmp_path: Path) -> None:
    shutil.copytree(PACKAGE / "tests", tmp_path / "tests")
    done = run(python, "-m", "unittest", "discover", "-s", "tests", cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.parametrize("name", ["typed", "readme"])
def test_a_typed_program_passes_strict_checks(python: Path, name: str, tmp_path: Path) -> None:
    text = {"typed": TYPED, "readme": "\n".join(readme())}[name]
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    done = run(python, "-m", "mypy", "--strict", "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_a_wrong_type_is_found(python: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        TYPED.replace('"CartPole-v1", 2', '"CartPole-v1", "2"'), encoding="utf-8"
    )
    done = run(python, "-m", "mypy", "--strict", "program.py", cwd=tmp_path)
    assert done.returncode == 1
    assert 'expected "int"' in done.stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_without_gymnasium_what_needs_it_says_so_and_the_rest_works(
    wheel: Path, version: str, tmp_path: Path
) -> None:
    python = environment(tmp_path / "bare", version, wheel)
    program = "import torchforge.agents, torchforge.data; torchforge.make('CartPole-v1').reset(seed=1)"
    done = run(python, "-c", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for module, needed in (("envs", "gymnasium"), ("minari", "minari"), ("torch", "torch")):
        done = run(python, "-c", f"import torchforge.{module}", cwd=tmp_path)
        last = done.stderr.strip().splitlines()[-1]
        assert re.fullmatch(rf"ImportError: torchforge.{module} needs .*: pip install .*{needed}.*", last)


def test_the_wheel_for_arm_runs_the_packages_own_tests_under_emulation(tmp_path: Path) -> None:
    wheels = sorted((ROOT / "dist").glob("torchforge_rl-*manylinux*_aarch64.whl"))
    if not wheels or run("docker", "image", "inspect", "forge-bench:arm64", cwd=ROOT).returncode != 0:
        pytest.skip("to do first: make wheel MACHINE=aarch64, make images")
    with zipfile.ZipFile(wheels[-1]) as archive:
        archive.extractall(tmp_path / "wheel")
    names = ("gae", "post_training", "data", "replay", "prioritised_replay", "sequence_replay", "disk_replay")
    tests = [f"test_{name}" for name in names]
    program = (
        "import sys, unittest, torchforge; print(torchforge.__file__, file=sys.stderr); "
        f"unittest.main(module=None, argv=['tests', *{tests!r}])"
    )
    done = run(
        *("docker", "run", "--rm", "--network", "none", "--entrypoint", "python3"),
        *("--volume", f"{tmp_path / 'wheel'}:/wheel:ro", "--volume", f"{PACKAGE / 'tests'}:/tests:ro"),
        *("--env", "PYTHONPATH=/wheel:/tests", "--workdir", "/tmp", "forge-bench:arm64", "-c", program),
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    # Docker warns first that the image is of another platform.
    imported = [line for line in done.stderr.splitlines() if line.endswith("/torchforge/__init__.py")]
    assert imported == ["/wheel/torchforge/__init__.py"], "another package was tested"


def test_a_processor_whose_standard_library_is_missing_is_named() -> None:
    done = run("make", "--silent", "wheel", "MACHINE=s390x", cwd=ROOT)
    assert done.returncode != 0
    assert done.stderr.startswith(
        "forge-bench: this machine's Rust has no standard library for s390x-unknown-linux-gnu; to do: rustup target add"
    )
