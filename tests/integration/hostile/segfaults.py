"""Reads the address zero."""

import ctypes
import sys

print("about to read what is not there", file=sys.stderr, flush=True)
ctypes.string_at(0)
