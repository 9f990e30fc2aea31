"""Crashes, and prints what would break a page or a terminal that shows it as it is."""

import sys

print("\x1b[31mred\x1b[0m | a `pipe` | <script>alert(1)</script> ```", file=sys.stderr)
print("# heading\n\n| a | b |\n|---|---|\n~~~", file=sys.stderr)
print("\u202ethe reason\x07 is *here* | <b>", file=sys.stderr)
sys.exit(7)
