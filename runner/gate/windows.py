"""What an implementation claims of its time, against the window that the referee saw."""

from runner.gate.check import Check
from runner.referee.claims import Account


def check_window(account: Account, *, ranked: bool) -> Check:
    """Judge the claims of a round.

    Args:
        account: of the last window.
        ranked: whether several repetitions were asked for. One alone is not ranked, and may take any window.
    """
    faults = account.faults if ranked else ("more is claimed than passed",) * account.overdrawn
    return Check(check="window", passed=not faults, detail="; ".join((str(account), *faults)))
