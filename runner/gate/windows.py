"""What an implementation claims of its time, against the window that the referee saw."""

from runner.gate.check import Check
from runner.referee.claims import Account

# A competitor may prepare and digest for this share of its own window; or for a few times as long as the reference does
# (a busy machine interrupts short work unevenly), but not beyond half of the window: what hides there could never make
# it look more than twice as fast.
_ALWAYS_SHARE, _TIMES_THE_REFERENCE, _MOST_SHARE = 0.1, 4.0, 0.5


def check_window(account: Account, *, ranked: bool, repetitions: int, between_seconds: float | None) -> Check:
    """Judge the claims of a round.

    Args:
        account: of the last window.
        ranked: whether several repetitions were asked for. Of one alone no rank is made, and any window will do.
        repetitions: in it.
        between_seconds: what the reference claims a repetition to cost beside its timed part; None for the reference.
    """
    if account.overdrawn:
        return _failed(f"{account}: more is claimed than passed")
    if not ranked:
        return Check(check="window", passed=True, detail=f"{account}: one repetition is not judged")
    if not account.telling:
        return _failed(f"{account}: too short to judge, a round trip took {account.channel:.3g} s")
    if not account.sound:
        rest = f"{account.unclaimed:.3g} s are claimed by nothing, {account.allowed:.3g} s may be"
        return _failed(f"{account}: {rest}")
    if between_seconds is not None:
        as_reference = min(_TIMES_THE_REFERENCE * between_seconds * repetitions, _MOST_SHARE * account.window)
        most = max(as_reference, _ALWAYS_SHARE * account.window)
        if account.between > most:
            rest = f"{most:.3g} s may be, by what the reference does there and by the window"
            return _failed(f"{account}: {rest}")
    return Check(check="window", passed=True, detail=str(account))


def _failed(detail: str) -> Check:
    return Check(check="window", passed=False, detail=detail)
