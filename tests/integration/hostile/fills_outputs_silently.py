"""Writes files into its output directory until there is no room, and ends as if all were well."""

import contextlib
import itertools
import sys
from pathlib import Path

written = 0
with contextlib.suppress(OSError):
    for number in itertools.count():
        with Path(f"/outputs/{number}").open("wb", buffering=0) as file:
            for _ in range(100):
                written += file.write(bytes(2**20 - 1))
print("bytes written:", written, file=sys.stderr)
