"""Whether this kernel really runs a foreign program. A minimal program is executed."""

import platform
import subprocess
import tempfile
from pathlib import Path

from runner.system.elf import executable

_ANSWER = 42
_SECONDS = 10.0
# The code of exit(42), for Linux: a system call and nothing else.
_PROGRAMS = {
    # mov edi, 42; mov eax, 60; syscall
    "amd64": (62, bytes.fromhex("bf2a000000 b83c000000 0f05")),
    # mov x0, #42; mov x8, #93; svc #0
    "arm64": (183, bytes.fromhex("400580d2 a80b80d2 010000d4")),
}


def runs(architecture: str) -> bool | None:
    """Whether a program of ``architecture`` runs here; None where that could not be tried."""
    if platform.system() != "Linux" or architecture not in _PROGRAMS:
        return None
    with tempfile.TemporaryDirectory(prefix="forge-bench-foreign-") as temporary:
        path = Path(temporary) / architecture
        try:
            path.write_bytes(executable(*_PROGRAMS[architecture]))
            path.chmod(0o755)
            result = subprocess.run(
                [str(path)], stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
            )
        except PermissionError:
            # Programs in this temporary directory may not be executed.
            return None
        except (OSError, subprocess.TimeoutExpired):
            return False
    return result.returncode == _ANSWER
