"""Prints a gigabyte of lines on stdout."""

import sys

for _ in range(1024):
    sys.stdout.write(("x" * 1023 + "\n") * 1024)
