"""A bundle carried to an emptied daemon without a network: loaded, checked and run again there, or refused by name."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import HOST, ROOT, Result, forge_bench
from own_daemon import WHY_NOT, OwnDaemon, own_daemon, possible

from runner.system.errors import DamagedBundle, NothingDecided
from runner.system.plain_tar import read_members

pytestmark = pytest.mark.skipif(not possible(), reason=WHY_NOT)


@pytest.fixture(scope="module")
def bundle(images, tmp_path_factory) -> Path:
    """The smoke records of one benchmark, with their image."""
    directory = tmp_path_factory.mktemp("bundle")
    results = directory / "results"
    ran = forge_bench(
        "--profile", "smoke", "--arch", HOST, "--only", "gae/rust", "--only", "gae/numpy", "--results", str(results),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-4000:]
    made = forge_bench("bundle", str(results), "--output", str(directory / "gae.tar"))
    assert made.returncode == 0, made.stderr[-4000:]
    return directory / "gae.tar"


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[OwnDaemon]:
    """Another daemon, with no image and in a network that leads nowhere."""
    with own_daemon() as daemon:
        assert daemon.docker("image", "ls", "--quiet").stdout == ""
        yield daemon


def verify(bundle: Path, daemon: OwnDaemon, *words: str) -> Result:
    command = [sys.executable, "-m", "runner", "verify", "--bundle", str(bundle), *words]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=dict(daemon.environment),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_one_changed_byte_is_refused_and_its_file_is_named(bundle, elsewhere):
    layer = max(read_members(bundle), key=lambda each: each.content.size)
    with bundle.open("r+b") as file:
        file.seek(layer.content.offset + layer.content.size // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))
        try:
            file.flush()
            refused = verify(bundle, elsewhere)
        finally:
            file.seek(-1, 1)
            file.write(byte)
    assert refused.returncode == DamagedBundle.exit_code, refused.stderr
    assert layer.name in refused.stderr
    assert elsewhere.docker("image", "ls", "--quiet").stdout == "", "nothing of it was loaded"


def test_an_emptied_daemon_without_a_network_runs_all_of_it_again(bundle, elsewhere):
    found = verify(bundle, elsewhere, "--json")
    # One process of a cell gives bytes that are the same, and no time that could be judged.
    assert found.returncode == NothingDecided.exit_code, found.stderr[-4000:]
    said = json.loads(found.stdout)
    assert {each["likeness"] for each in said["images"]} == {"same"}
    assert said["summary"]["differs"] == 0
    verdicts = {
        each["verdict"]
        for cell in said["cells"]
        for each in cell["figures"]
        if each["figure"] in ("gate", "inputs", "outputs", "counts", "software")
    }
    assert verdicts == {"reproduced"}
    names = elsewhere.docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}").stdout.split()
    assert all(name.startswith("forge-bench:verify-") for name in names), "no tag of any image came along"
