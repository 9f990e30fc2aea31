"""Ignores every polite request to end, and waits."""

import signal
import sys
import time

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
print("waiting for something that does not come", file=sys.stderr, flush=True)
while True:
    time.sleep(600)
