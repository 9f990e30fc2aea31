"""Prints a gigabyte on stderr."""

import sys

for _ in range(1024):
    sys.stderr.write(("y" * 1023 + "\n") * 1024)
