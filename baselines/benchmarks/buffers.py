"""A program of one ring that serves `buffer-push` or `buffer-sample`, as its first argument says."""

import argparse
from collections.abc import Callable
from typing import Any

from baselines.benchmarks import buffer_push, buffer_sample
from baselines.contract import protocol


def main(
    description: str | None,
    ring: Callable[[int, int], Any],
    run_pushes: Callable[[argparse.Namespace, Callable[[int, int], Any]], None] = buffer_push.run,
) -> None:
    """Serve the cases.

    Args:
        description: the program's documentation.
        ring: makes a ring that is both a `buffer_push.Ring` and a `buffer_sample.Sampler`.
        run_pushes: serves `buffer-push`: `buffer_push.run_drawn` for a ring that is read by draws alone.
    """
    parser = protocol.parser(description)
    parser.add_argument("what", choices=("push", "sample"), help="which of the two benchmarks")
    options = parser.parse_args()
    if options.what == "push":
        run_pushes(options, ring)
    else:
        buffer_sample.run(options, ring)
