"""Claims against windows, at the borders."""

import pytest

from runner.gate.windows import check_window
from runner.referee.claims import Account
from runner.referee.sizes import Plan

REPEATED, TRAINING = Plan(repetitions=100), Plan(training=True)


def account(
    window: float = 1.0,
    timed: float = 0.9,
    between: float = 0.09,
    channel: float = 1e-3,
    reference: float | None = 0.1,
    computed: float | None = None,
) -> Account:
    return Account(
        window=window, timed=timed, between=between, channel=channel, reference=reference, computed=computed
    )


@pytest.mark.parametrize(
    ("claims", "passed"),
    [
        (account(timed=0.91, between=0.09), True),
        (account(timed=0.92, between=0.09), False),
        (account(timed=0.90, between=0.0801), True),
        (account(timed=0.90, between=0.078), False),
        (account(timed=1e-9, between=1e-9), False),
        # The launch waited for a processor in the rest of the window, and computed nothing there.
        (account(timed=0.90, between=0.0, computed=0.92), True),
        (account(timed=0.90, between=0.0, computed=0.93), False),
        # It waited longer than a tenth of the window.
        (account(timed=0.89, between=0.0, computed=0.89), True),
        (account(timed=0.87, between=0.0, computed=0.87), False),
        # It computes for a moment, claims nothing, and sleeps to make its window long.
        (account(window=61.0, timed=1e-9, between=0.0, computed=1.0), False),
        # It claims all that it computes as work between the timed parts, and sleeps.
        (account(window=10.0, timed=1e-9, between=1.0, computed=1.0), False),
        # It computes for less than a round trip, and sleeps until its window is long enough.
        (account(window=0.02, timed=1e-9, between=0.0, computed=5e-4), False),
        # A wait within the timed parts hides nothing, and excuses nothing.
        (account(timed=0.99, between=0.0, computed=0.1), True),
        (account(timed=1.02, between=0.0, computed=0.1), False),
        # Two processors compute more than the window is long.
        (account(timed=0.50, between=0.0, computed=1.8), False),
        # Too short to rank anything, which is the machine's fault; a lie shows there too.
        (account(window=0.01, timed=0.01, between=0.0), True),
        (account(window=0.01, timed=0.001, between=0.0), False),
    ],
)
def test_claims_must_fill_their_window_and_no_more(claims: Account, passed: bool) -> None:
    assert check_window(claims, REPEATED).passed == passed


@pytest.mark.parametrize(
    ("between", "of_reference", "passed"),
    [
        # A share of the window is always allowed.
        (0.09, 0.0, True),
        (0.11, 0.0, False),
        # Four times what the reference does.
        (0.39, 0.1, True),
        (0.41, 0.1, False),
        # Never more than three quarters of the window.
        (0.74, 1.0, True),
        (0.76, 1.0, False),
        # The reference itself is not compared.
        (0.9, None, True),
    ],
)
def test_work_between_repetitions_is_bounded_by_the_reference(
    between: float, of_reference: float | None, passed: bool
) -> None:
    claims = account(timed=1 - between, between=between, reference=of_reference)
    assert check_window(claims, REPEATED).passed == passed


@pytest.mark.parametrize(
    ("between", "of_reference", "ranks"), [(0.49, 1.0, True), (0.51, 1.0, False), (0.9, None, True)]
)
def test_a_window_of_which_less_than_half_was_timed_ranks_nothing(
    between: float, of_reference: float | None, ranks: bool
) -> None:
    """On a slow machine a short call and the digest of its outputs may take as long: that is no lie, and no figure."""
    found = account(timed=1 - between, between=between, reference=of_reference)
    assert found.mostly_timed is ranks
    assert found.sound is ranks
    # It is long enough to be judged all the same.
    assert found.telling


def test_one_repetition_may_claim_no_more_than_its_window_and_is_not_judged_further() -> None:
    def passed(timed: float) -> bool:
        claims = account(window=0.01, timed=timed, between=0.0)
        return check_window(claims, Plan()).passed

    assert passed(0.001)
    assert not passed(0.02)


def test_a_training_fills_its_window_unless_that_is_too_short_to_judge() -> None:
    assert check_window(account(), TRAINING).passed
    assert not check_window(account(timed=0.5), TRAINING).passed
    short = account(window=0.01, timed=0.001, between=0.0)
    assert check_window(short, TRAINING).passed
    assert not short.telling
    assert not check_window(account(window=0.01, timed=0.02, between=0.0), TRAINING).passed
