"""``python -m runner``."""

from runner.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
