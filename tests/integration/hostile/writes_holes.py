"""Makes files that look huge and hold nothing: whoever copies them copies the holes too."""

import contextlib
import sys
from pathlib import Path

for number in range(1000):
    with Path(f"/outputs/hole{number}").open("wb") as file:
        try:
            file.truncate(2**40)
        except OSError as error:
            print("a terabyte:", error, file=sys.stderr)
        with contextlib.suppress(OSError):
            file.truncate(200 * 2**20)
