"""`dqn` by the Rust agent in the real Gymnasium: what stepping a Python environment from Rust costs."""

# ruff: noqa: E402 - the clock is read before the imports that take time.

import time

FIRST_LINE = time.perf_counter()

import sys

from baselines.ours import rust_gymnasium

if __name__ == "__main__":
    sys.exit(rust_gymnasium.train("dqn", __doc__, FIRST_LINE))
