"""Reading files that others may have put there: only regular ones, and never more than a stated number of bytes."""

import errno
import os
import stat
from pathlib import Path

_BLOCK = 2**20


def read_bounded(path: Path, most_bytes: int) -> bytes:
    """The content of ``path``.

    Nothing blocks: a pipe or a device is refused without being read from.

    Raises:
        OSError: it cannot be read, is no regular file, or holds more than ``most_bytes``.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:
        raise OSError(errno.EINVAL, f"not a path: {error}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            # A file may grow, and kernel files report no size, so the bytes that were read are counted. Memory is
            # allocated block by block: one large request would allocate all that is allowed.
            content = bytearray()
            while len(content) <= most_bytes:
                block = file.read(min(_BLOCK, most_bytes + 1 - len(content)))
                if not block:
                    break
                content += block
    finally:
        os.close(descriptor)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"larger than {most_bytes} bytes")
    return bytes(content)
