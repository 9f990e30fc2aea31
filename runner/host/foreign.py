"""Whether this kernel really runs a foreign program. A minimal program is executed."""

import platform
import struct
import subprocess
import tempfile
from pathlib import Path

_ANSWER = 42
_SECONDS = 10.0
_BASE = 0x400000
_HEADERS = 64 + 56
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


def executable(machine: int, code: bytes) -> bytes:
    """A static 64-bit ELF file that executes ``code`` and holds nothing else.

    Args:
        machine: the architecture by ELF's number of it.
        code: what stands at the entry point.
    """
    size = _HEADERS + len(code)
    identification = b"\x7fELF" + bytes((2, 1, 1)) + bytes(9)
    entry = _BASE + _HEADERS
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", identification, 2, machine, 1, entry, 64, 0, 0, 64, 56, 1, 0, 0, 0
    )
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, _BASE, _BASE, size, size, 0x1000)
    return header + segment + code
