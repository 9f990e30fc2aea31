"""A static program out of a few instructions, where there is no compiler and no image to take one from."""

import struct

_BASE = 0x400000
_HEADERS = 64 + 56


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
