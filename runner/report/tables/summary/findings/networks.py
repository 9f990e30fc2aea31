"""Whether candle answers one observation soonest, and whether burn catches up with it as batches grow."""

from runner.report.tables.summary.declared import BURN, CANDLE, PYTORCH, Column
from runner.report.tables.summary.findings.finding import Finding, together, unmeasured
from runner.report.tables.summary.findings.lead import Lead, column_over, present
from runner.report.tables.summary.findings.narrowing import narrowing
from runner.report.tables.summary.places import Rooms

LATENCY = "candle answers one observation sooner than burn and PyTorch"
CATCHING_UP = "burn catches up with candle as batches grow"
_ONE = ("dqn-1", "ppo-1", "sac-1")
_SIZES = (
    ("nn-act", "dqn-1", "dqn-256"),
    ("nn-act", "ppo-1", "ppo-256"),
    ("nn-step", "dqn-64", "dqn-256"),
    ("nn-step", "ppo-64", "ppo-256"),
)


def latency(rooms: Rooms) -> Finding:
    """The lead of candle over both at a batch of one."""

    def over(base: Column) -> list[Lead]:
        return present(column_over(rooms, "nn-act", case, CANDLE, base) for case in _ONE)

    leads = [over(base) for base in (BURN, PYTORCH)]
    if not all(leads):
        return unmeasured(
            LATENCY, "it needs ranked ratios of candle against burn and against pytorch in nn-act"
        )
    found = [lead for each in leads for lead in each]
    return Finding(
        claim=LATENCY, outcome=together(lead.faster for lead in found), figures=tuple(map(str, found))
    )


def catching_up(rooms: Rooms) -> Finding:
    """The lead of candle over burn at a small batch, beside that at a large one."""
    return narrowing(
        CATCHING_UP,
        [
            (column_over(rooms, name, small, CANDLE, BURN), column_over(rooms, name, large, CANDLE, BURN))
            for name, small, large in _SIZES
        ],
        lacking="it needs ranked ratios of candle against burn at two sizes in nn-act or nn-step",
    )
