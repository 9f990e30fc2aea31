"""The gate: the checks that an implementation passes before its times count.

The gate compares the outputs with the reference's. It compares the counts with the runner's own arithmetic, and the
times with the launch's duration. Only files of the timed launch count.
"""

from runner.gate.check import Check
from runner.gate.hearing import Hearing
from runner.gate.judge import Judgement, expected_counts, judge

__all__ = ["Check", "Hearing", "Judgement", "expected_counts", "judge"]
