"""What a launch can do to the machine, and what it cannot."""

import pytest
from conftest import HOST, docker, forge_bench
from test_matrix import record_of

# Every body is a whole program; none of them prints a measurement.
HOSTILE = {
    "out-of-memory": "x = []\nwhile True: x.append(bytearray(2**24))",
    "deadline": "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)",
    "too-much-output": "import sys\nwhile True: sys.stdout.write('x' * 2**20 + '\\n')",
    "exit-code": "import sys\nprint('the reason', file=sys.stderr)\nsys.exit(7)",
    "signal": "import os\nos.abort()",
    "missing-measurement": "pass",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_launch_is_a_failed_cell_with_its_reason_and_leaves_nothing(
    images, tmp_path, shipped_matrix, kind
):
    def edit(data: dict) -> None:
        data["limits"]["default"]["memory"] = "512MiB"
        data["profiles"]["smoke"]["deadline_seconds"]["native"] = 20
        gae = data["benchmarks"]["gae"]
        gae["cases"] = {"T=128": gae["cases"]["T=128"]}
        del gae["implementations"]["torchrl-vec"]
        gae["implementations"]["hostile"] = {"command": ["python3", "-c", HOSTILE[kind]]}

    volumes = docker("volume", "ls", "--quiet").stdout
    result = forge_bench(
        "--matrix", str(shipped_matrix(edit)), "--results", str(tmp_path / "r"), "--profile", "smoke",
        "--arch", HOST, "--only", "gae/hostile",
    )  # fmt: skip
    assert result.returncode == 3, result.stderr
    record = record_of(tmp_path / "r", implementation="hostile")
    assert record["failure"]["kind"] == kind, record["failure"]
    assert kind in result.stdout
    assert docker("ps", "--all", "--quiet", "--filter", "label=forge-bench.runner").stdout == ""
    assert docker("volume", "ls", "--quiet").stdout == volumes


INSIDE = """
import json, os, pathlib, socket, sys
found = {"uid": os.getuid(), "cpus": len(os.sched_getaffinity(0))}
for name in ("/", "/usr", "/opt/forge-bench"):
    try:
        (pathlib.Path(name) / "mark").write_text("x")
        found[name] = "writable"
    except OSError:
        found[name] = "refused"
try:
    socket.create_connection(("192.0.2.1", 80), timeout=2)
    found["network"] = "open"
except OSError:
    found["network"] = "refused"
found["socket"] = os.path.exists("/var/run/docker.sock")
found["capabilities"] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("CapEff")][0]
print(json.dumps(found), file=sys.stderr)
sys.exit(1)
"""


def test_a_launch_has_no_root_no_network_no_capability_and_nothing_to_write_to(
    images, tmp_path, shipped_matrix
):
    def edit(data: dict) -> None:
        data["benchmarks"]["gae"]["implementations"]["curious"] = {"command": ["python3", "-c", INSIDE]}

    forge_bench(
        "--matrix", str(shipped_matrix(edit)), "--results", str(tmp_path / "r"), "--profile", "smoke",
        "--arch", HOST, "--only", "gae/curious",
    )  # fmt: skip
    tail = record_of(tmp_path / "r", implementation="curious", case="T=128")["launch"]["stderr_tail"]
    for expected in ('"uid": 65532', '"cpus": 1', '"/": "refused"', '"/usr": "refused"', '"/opt/forge-bench": "refused"',
                     '"network": "refused"', '"socket": false', '"capabilities": "0000000000000000"'):  # fmt: skip
        assert expected in tail
