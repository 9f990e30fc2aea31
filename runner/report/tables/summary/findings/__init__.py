"""The findings of rlox's benchmark report, each a rule over the rooms of one place: it holds here, or it does not.

finding.py     the outcome of a claim, and how its parts decide it
lead.py        a ranked ratio between two rows
narrowing.py   the common rule of leads that narrow as work grows
"""

from collections.abc import Callable

from runner.report.tables.summary.findings.advantages import advantages
from runner.report.tables.summary.findings.divergence import divergence
from runner.report.tables.summary.findings.environments import crossover, growth
from runner.report.tables.summary.findings.finding import Finding
from runner.report.tables.summary.findings.groups import groups
from runner.report.tables.summary.findings.networks import catching_up, latency
from runner.report.tables.summary.findings.pushes import pushes
from runner.report.tables.summary.findings.rollouts import rollouts
from runner.report.tables.summary.findings.small_arrays import small_arrays
from runner.report.tables.summary.findings.tails import tails
from runner.report.tables.summary.places import Rooms

FINDINGS: tuple[Callable[[Rooms], Finding], ...] = (
    advantages,
    pushes,
    rollouts,
    growth,
    crossover,
    tails,
    small_arrays,
    latency,
    catching_up,
    groups,
    divergence,
)
