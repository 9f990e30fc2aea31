"""Prints one line that does not end."""

import sys

while True:
    sys.stdout.write("x" * 2**20)
