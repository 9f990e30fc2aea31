"""``python -m runner``."""

import signal
import sys

if __name__ == "__main__":
    try:
        # Imported here: Ctrl-C while a second's worth of modules is read is no traceback either.
        from runner.cli import main

        code = main()
    except KeyboardInterrupt:
        code = 130
    # All is done: what the interpreter has left to do must not turn this code into another.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(code)
