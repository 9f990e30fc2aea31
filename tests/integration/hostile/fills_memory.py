"""Takes memory until there is none."""

import sys

print("filling memory", file=sys.stderr, flush=True)
taken = []
while True:
    taken.append(bytearray(2**24))
