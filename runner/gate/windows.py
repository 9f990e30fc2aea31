"""What an implementation claims of its time, against the window that the referee saw."""

from runner.gate.check import Check
from runner.referee.claims import Account
from runner.referee.sizes import Plan


def check_window(account: Account, plan: Plan) -> Check:
    """Judge the claims of a round.

    Args:
        account: of the last window.
        plan: how it was repeated. One repetition of an operation shows that the work is right: it may take any window.
            So may a training whose window is too short to say anything. Such a window ranks nothing.
    """
    judged = plan.repeated or (plan.training and account.telling)
    faults = account.faults if judged else ("more is claimed than passed",) * account.overdrawn
    return Check(check="window", passed=not faults, detail="; ".join((str(account), *faults)))
