"""Writes into its output directory until there is no room, and gives up on it."""

import sys
from pathlib import Path

written = 0
with Path("/outputs/endless").open("wb", buffering=0) as file:
    try:
        while True:
            written += file.write(bytes(2**20))
    finally:
        print("bytes written:", written, file=sys.stderr)
