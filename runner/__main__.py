"""``python -m runner``."""

import signal
import sys

from runner.signals import stop_on_signals

if __name__ == "__main__":
    # A second's worth of modules is read after this: to stop meanwhile is no traceback either.
    stop_on_signals()
    try:
        from runner.cli import main

        code = main()
    except KeyboardInterrupt:
        code = 130
    # All is done: what the interpreter has left to do must not turn this code into another.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(code)
