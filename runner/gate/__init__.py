"""The gate: what an implementation passes before its timings count.

Nobody's word is taken: the outputs are compared with the reference's, the counts with those that the runner works
out itself, the times with the launch's own duration. Only files of the very launch that was timed are looked at.
"""

from runner.gate.check import Check
from runner.gate.hearing import Hearing
from runner.gate.judge import Judgement, expected_counts, judge

__all__ = ["Check", "Hearing", "Judgement", "expected_counts", "judge"]
