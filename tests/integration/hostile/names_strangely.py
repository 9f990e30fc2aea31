"""Hands over files with names that could lead elsewhere, or are no text."""

import os

os.mkdir(b"/outputs/T=128")
for name in (b"..\\..\\x", b"-rf", b"a\nb", b"\xff\xfe", b"C:"):
    os.close(os.open(b"/outputs/T=128/" + name, os.O_CREAT | os.O_WRONLY))
