"""A bootstrap that is stopped, in real processes: mmdebstrap is played by a script that behaves as it does."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# The leader waits for its child whatever it is told, and tidies up when that has ended: so does mmdebstrap.
MMDEBSTRAP = """#!/bin/sh
trap : TERM INT HUP
chroot=$(mktemp -d "${TMPDIR:-/tmp}/mmdebstrap.XXXXXXXX")
echo "$chroot" > "$TELL"
sh -c 'trap - TERM; exec sleep 100' &
child=$!
while kill -0 $child 2>/dev/null; do wait $child; done
TIDY
exit 1
"""
RUNNER = """
import sys
from pathlib import Path
from runner.images import base
from runner.matrix.toolchain import Toolchain
from runner.system.signals import stop_on_signals
stop_on_signals()
base.inspect_images = lambda tags: {}
toolchain = Toolchain(name="trixie", suite="trixie", rust="1", python="3", pytorch="2")
base.ensure_base(toolchain, log_directory=Path(sys.argv[1]), say=lambda _: None)
"""


def interrupt_a_bootstrap(directory: Path, tidy: str) -> tuple[Path, list[Path]]:
    """Where the chroot was, and what is left in the temporary directory after the runner has ended."""
    programs, temporary, tell = directory / "programs", directory / "tmp", directory / "tell"
    programs.mkdir()
    temporary.mkdir()
    os.mkfifo(tell)
    heard = os.open(tell, os.O_RDWR)
    script = programs / "mmdebstrap"
    script.write_text(MMDEBSTRAP.replace("TIDY", tidy))
    script.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(directory / "logs")],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
        env={
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "TMPDIR": str(temporary),
            "TELL": str(tell),
        },
    ) as runner:
        assert select.select([heard], [], [], 60)[0], "no bootstrap began"
        chroot = Path(os.read(heard, 2**12).decode().strip())
        os.close(heard)
        assert chroot.is_dir()
        runner.send_signal(signal.SIGTERM)
        runner.wait(timeout=60)
    return chroot, list(temporary.iterdir())


@pytest.mark.parametrize("tidy", ['rm -r "$chroot"; touch "$TELL.tidied"', ":"], ids=["tidies", "leaves it"])
def test_a_bootstrap_that_is_stopped_leaves_nothing_behind(tmp_path, tidy):
    chroot, left = interrupt_a_bootstrap(tmp_path, tidy)
    assert left == []
    # It had its time to tidy up by itself: without root, nobody else could.
    assert (tmp_path / "tell.tidied").exists() is ("touch" in tidy)
    assert "forge-bench-base-" in str(chroot), (
        "below a directory that names its owner, for the next runner to find"
    )
