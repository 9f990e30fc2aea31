"""Prints a measurement with bytes in it that are no text."""

import sys

sys.stdout.buffer.write(
    b'{"event":"progress","done":1,"total":2,"unit":"\xff\xfe\xc3"}\n'
    b'{"event":"measurement","case":"T=128","metrics":{"seconds":[1e-6]},"counts":{"elements":128},'
    b'"memory":{"vmhwm_bytes":null,"cgroup_peak_bytes":null}}\n'
)
