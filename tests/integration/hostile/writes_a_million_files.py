"""Writes a million small files, or as many as it can."""

import sys
from pathlib import Path

number = 0
try:
    for number in range(1_000_000):
        Path(f"/outputs/{number}").write_bytes(b"x")
finally:
    print("files written:", number, file=sys.stderr)
