"""The gate: the checks that an implementation passes before its times count.

The gate compares the outputs with the reference's. It compares the counts with the runner's own arithmetic, and the
times with the launch's duration. Only files of the timed launch count.
"""

from runner.system.caller_limits import require_addresses

require_addresses()

from runner.gate.check import Check  # noqa: E402 (NumPy is not read before there is room for it)
from runner.gate.hearing import Examined, Hearing  # noqa: E402 (as above)
from runner.gate.judge import Judgement, expected_counts, judge  # noqa: E402 (as above)

__all__ = ["Check", "Examined", "Hearing", "Judgement", "expected_counts", "judge"]
