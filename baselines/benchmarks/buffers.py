"""A program of one ring that serves `buffer-push` or `buffer-sample`, as its first argument says."""

from collections.abc import Callable
from typing import Any

from baselines.benchmarks import buffer_push, buffer_sample
from baselines.contract import protocol


def main(description: str | None, ring: Callable[[int, int], Any]) -> None:
    """Serve the cases.

    Args:
        description: the program's documentation.
        ring: makes a ring that is both a `buffer_push.Ring` and a `buffer_sample.Sampler`.
    """
    parser = protocol.parser(description)
    parser.add_argument("what", choices=("push", "sample"), help="which of the two benchmarks")
    options = parser.parse_args()
    if options.what == "push":
        buffer_push.run(options, ring)
    else:
        buffer_sample.run(options, ring)
