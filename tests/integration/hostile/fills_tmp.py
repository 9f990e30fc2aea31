"""Writes to /tmp until there is no room."""

import itertools
import sys
from pathlib import Path

written = 0
try:
    for number in itertools.count():
        with Path(f"/tmp/{number}").open("wb", buffering=0) as file:
            for _ in range(100):
                written += file.write(bytes(2**20))
finally:
    print("bytes written:", written, file=sys.stderr)
