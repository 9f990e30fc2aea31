"""Real Docker, real images, real QEMU. Nothing here is a stand-in."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import turns
import yaml
from loopback_registry import registry, registry_directory
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from runner.executors.sweep import OWNER_LABEL
from runner.system import machine
from runner.system.owner import Owner

# Fixtures of a module of their own.
__all__ = ["registry", "registry_directory"]

ROOT = Path(__file__).parents[2]
HOST = machine.architecture()
FOREIGN = {"amd64": "arm64", "arm64": "amd64"}[HOST]
# Whatever the host is: there are no peers for another architecture.
PEERS = "forge-bench:peers-trixie-amd64"

Result = subprocess.CompletedProcess[str]
Forge = Callable[..., Result]


# The tokens of the runners that this session started: what they make on a daemon bears them.
STARTED: set[str] = set()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "alone: changes what all of the daemon's users share")
    directory = turns.make_directory()
    if directory is not None:
        config.add_cleanup(lambda: shutil.rmtree(directory, ignore_errors=True))
    turns.take_share_of_cpus()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    turns.arrange(items)


class ByGroup(LoadScopeScheduling):
    """Hands whole groups to the workers, in the order of the tests. xdist's own groups are lost on pytest 9."""

    def _split_scope(self, nodeid: str) -> str:
        return turns.group_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return ByGroup(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    with turns.turn(item):
        return (yield)


def forge_bench(*arguments: str, timeout: float = 1800) -> Result:
    """``python -m runner`` as a user calls it."""
    command = [sys.executable, "-m", "runner", *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        STARTED.add(str(Owner.of(process.pid)))
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return Result(command, process.returncode, out, err)


def left_behind() -> list[str]:
    """Containers and volumes of this session's own runners: others of this daemon may be at work just now."""
    listed = [
        docker("ps", "--all", "--format", f'{{{{.Label "{OWNER_LABEL}"}}}} {{{{.Names}}}}'),
        docker("volume", "ls", "--format", f'{{{{.Label "{OWNER_LABEL}"}}}} {{{{.Name}}}}'),
    ]
    return [line for each in listed for line in each.stdout.splitlines() if line.partition(" ")[0] in STARTED]


def docker(*arguments: str, timeout: float = 900) -> Result:
    """The docker command line."""
    return subprocess.run(
        ["docker", *arguments], capture_output=True, text=True, timeout=timeout, check=False
    )


@pytest.fixture(scope="session")
def images() -> None:
    """All images of the shipped matrix, built by the command that a user has."""
    with turns.one_at_a_time("images"):
        result = forge_bench("build")
    assert result.returncode == 0, result.stderr[-4000:]


@pytest.fixture(scope="session")
def smoke(images: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """The whole smoke profile on both architectures, once; its results directory and what it said."""
    del images
    results = tmp_path_factory.mktemp("smoke")
    # Two slow cores had ended 151 of its 162 launches after 28 minutes.
    outcome = forge_bench("--profile", "smoke", "--results", str(results), timeout=2700)
    assert outcome.returncode == 0, outcome.stderr[-4000:]
    return results, outcome


@pytest.fixture
def shipped_matrix(tmp_path: Path) -> Callable[[Callable[[dict], None]], Path]:
    """The shipped matrix with a change, as a file."""

    def change(edit: Callable[[dict], None]) -> Path:
        data = yaml.safe_load((ROOT / "matrix.yaml").read_text(encoding="utf-8"))
        edit(data)
        path = tmp_path / "matrix.yaml"
        path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
        return path

    return change


@pytest.fixture(scope="session")
def packages_for_the_image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pytest and what it needs, all of it pure Python, in a directory that a container can read."""
    target = tmp_path_factory.mktemp("pytest")
    packages = Path(pytest.__file__).parent.parent
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        shutil.copytree(packages / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(packages / "py.py", target)
    for path in [target, *target.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    for parent in (target.parent, target.parent.parent):
        os.chmod(parent, 0o755)  # noqa: PTH101 (pytest makes its own folders private)
    return target
