"""Forks without end; each child does the same."""

import contextlib
import os
import sys

print("forking", file=sys.stderr, flush=True)
while True:
    with contextlib.suppress(OSError):
        os.fork()
