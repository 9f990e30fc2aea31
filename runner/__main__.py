"""``python -m runner``."""

import sys

if __name__ == "__main__":
    try:
        # Imported here: Ctrl-C while a second's worth of modules is read is no traceback either.
        from runner.cli import main

        code = main()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
