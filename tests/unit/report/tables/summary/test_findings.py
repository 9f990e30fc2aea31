"""Each finding of rlox's report holds or fails by the records, and is not measured where they lack a figure."""

from collections.abc import Callable, Mapping

import pytest

from runner.report.tables.summary.findings import (
    FINDINGS,
    advantages,
    catching_up,
    crossover,
    divergence,
    groups,
    growth,
    latency,
    pushes,
    rollouts,
    small_arrays,
    tails,
)
from runner.report.tables.summary.findings.finding import Finding, Outcome, together
from runner.report.tables.summary.findings.tails import CLAIM
from runner.report.tables.summary.places import Rooms
from tables.summary.made import OURS, SEEDS, leads, rooms_of, timed

HOLDS, FAILS, OPEN, NOT_MEASURED = Outcome.HOLDS, Outcome.FAILS, Outcome.OPEN, Outcome.NOT_MEASURED
Leads = Mapping[tuple[str, str, str], float]

GAE, STEPS = ("gae", "T=2048", "numpy"), ("env-vector", "n=256", "gymnasium")
SMALL_PUSH, LARGE_PUSH = ("buffer-push", "obs=4"), ("buffer-push", "obs=28224")
ROLLOUT = ("rollout", "256x2048", "sb3")
# The other benchmarks of the first table.
OTHERS = {
    (*SMALL_PUSH, "numpy"): 2,
    ("buffer-sample", "batch=1024", "numpy"): 3,
    ("rollout", "64x512", "gymnasium"): 20,
    ("grpo", "256x16", "numpy"): 4,
    ("token-kl", "T=128", "numpy"): 5,
}
GROUPS = [("grpo", case, "pytorch") for case in ("16x4", "64x8", "256x16", "1024x32")]
SINGLE, BATCH = ("token-kl", "k3-1x128", "pytorch"), ("token-kl", "k3-32x2048", "pytorch")


def steps(**by_number: float) -> Leads:
    """Leads over Gymnasium, by the number of environments: ``n4=2``."""
    return {("env-vector", f"n={name[1:]}", "gymnasium"): lead for name, lead in by_number.items()}


def grouped(*found: float) -> Leads:
    return dict(zip(GROUPS, found, strict=False))


@pytest.mark.parametrize(
    ("finding", "found", "outcome"),
    [
        (advantages, {GAE: 100, **OTHERS, STEPS: 50}, HOLDS),
        (advantages, {GAE: 100, **OTHERS, STEPS: 200}, FAILS),
        (advantages, {GAE: 100, STEPS: 200}, FAILS),
        (advantages, {GAE: 100, STEPS: 50}, NOT_MEASURED),
        (advantages, {GAE: 100}, NOT_MEASURED),
        (advantages, {**OTHERS, STEPS: 50}, NOT_MEASURED),
        (pushes, {(*SMALL_PUSH, "torchrl"): 60, (*LARGE_PUSH, "torchrl"): 2}, HOLDS),
        (
            pushes,
            {
                (*SMALL_PUSH, "torchrl"): 60,
                (*LARGE_PUSH, "torchrl"): 2,
                (*SMALL_PUSH, "sb3"): 4,
                (*LARGE_PUSH, "sb3"): 8,
            },
            FAILS,
        ),
        (pushes, {(*SMALL_PUSH, "torchrl"): 60, (*LARGE_PUSH, "sb3"): 2}, NOT_MEASURED),
        (rollouts, {ROLLOUT: 3, STEPS: 7}, HOLDS),
        (rollouts, {ROLLOUT: 30, STEPS: 7}, FAILS),
        (rollouts, {ROLLOUT: 0.5, STEPS: 7}, FAILS),
        (rollouts, {ROLLOUT: 3}, NOT_MEASURED),
        (rollouts, {STEPS: 7}, NOT_MEASURED),
        (growth, steps(n1=2, n16=5, n512=8), HOLDS),
        (growth, steps(n1=8, n16=5, n512=2), FAILS),
        (growth, steps(n16=5), NOT_MEASURED),
        (crossover, steps(n1=0.5, n16=2, n512=8), HOLDS),
        (crossover, steps(n1=1.5, n16=0.5, n512=8), FAILS),
        (crossover, {GAE: 100}, NOT_MEASURED),
        (small_arrays, {("grpo", "16x4", "numpy"): 30, ("grpo", "1024x32", "numpy"): 2}, HOLDS),
        (small_arrays, {("token-kl", "T=128", "numpy"): 2, ("token-kl", "T=8192", "numpy"): 3}, FAILS),
        (small_arrays, {("grpo", "16x4", "numpy"): 30, ("token-kl", "T=8192", "numpy"): 3}, NOT_MEASURED),
        (groups, grouped(14, 9, 6, 4), HOLDS),
        (groups, grouped(4, 6, 9, 14), FAILS),
        (groups, grouped(14, 9, 0.9, 0.5), FAILS),
        (groups, grouped(14, 9, 6), NOT_MEASURED),
        (divergence, {SINGLE: 5, BATCH: 0.6}, HOLDS),
        (divergence, {SINGLE: 5, BATCH: 1.5}, FAILS),
        (divergence, {SINGLE: 0.5, BATCH: 0.6}, FAILS),
        (divergence, {SINGLE: 5}, NOT_MEASURED),
        (divergence, {BATCH: 0.6}, NOT_MEASURED),
    ],
)
def test_a_finding_about_ours_follows_from_the_leads(
    finding: Callable[[Rooms], Finding], found: Leads, outcome: Outcome
) -> None:
    assert finding(rooms_of(leads(found))).outcome is outcome


@pytest.mark.parametrize(
    ("finding", "found", "outcome"),
    [
        (latency, {("nn-act", "dqn-1", "burn"): 6, ("nn-act", "dqn-1", "pytorch"): 3}, HOLDS),
        (latency, {("nn-act", "dqn-1", "burn"): 0.9, ("nn-act", "dqn-1", "pytorch"): 3}, FAILS),
        (latency, {("nn-act", "dqn-1", "burn"): 6}, NOT_MEASURED),
        (catching_up, {("nn-step", "dqn-64", "burn"): 2, ("nn-step", "dqn-256", "burn"): 0.6}, HOLDS),
        (catching_up, {("nn-act", "ppo-1", "burn"): 2, ("nn-act", "ppo-256", "burn"): 6}, FAILS),
        (catching_up, {("nn-act", "dqn-1", "burn"): 2, ("nn-step", "dqn-256", "burn"): 6}, NOT_MEASURED),
    ],
)
def test_a_finding_about_backends_follows_from_the_leads_of_candle(
    finding: Callable[[Rooms], Finding], found: Leads, outcome: Outcome
) -> None:
    assert finding(rooms_of(leads(found, "candle"))).outcome is outcome


def test_a_figure_names_both_sides_and_the_verdict() -> None:
    found = advantages(rooms_of(leads({GAE: 100, **OTHERS, STEPS: 50})))
    assert found.figures == (
        "gae T=2048, torchforge against numpy: 100x (100 to 100) faster",
        "env-vector n=256, torchforge against gymnasium: 50.0x (50.0 to 50.0) faster",
    )


def test_a_lead_is_one_over_the_fastest_of_a_column() -> None:
    tuned = ("gae", "T=2048", "numpy-tuned")
    found = advantages(rooms_of(leads({GAE: 100, tuned: 40, **OTHERS, STEPS: 50})))
    assert found.outcome is FAILS
    assert "against numpy-tuned: 40.0x" in found.figures[0]


@pytest.mark.parametrize(
    ("found", "crossing"),
    [
        (steps(n1=0.5, n16=2, n512=8), "faster from n=16 on"),
        (steps(n1=1.5, n16=0.5, n64=2, n512=8), "faster from n=64 on"),
        (steps(n1=2, n16=2), "faster from n=1 on"),
        (steps(n1=2, n16=0.5), "not faster with the most of them"),
    ],
)
def test_the_crossover_is_the_number_from_which_on_ours_is_always_faster(found: Leads, crossing: str) -> None:
    assert crossover(rooms_of(leads(found))).figures[1] == crossing


def test_the_growth_says_how_many_steps_a_second_the_most_environments_take() -> None:
    found = growth(rooms_of(leads(steps(n1=2, n512=8))))
    assert found.figures[2] == "torchforge takes 512,000,000 steps a second at n=512"


def test_the_largest_rollout_that_was_run_decides() -> None:
    both = {ROLLOUT: 3, ("rollout", "64x512", "sb3"): 30, STEPS: 7}
    assert "rollout 256x2048" in rollouts(rooms_of(leads(both))).figures[0]
    smaller = {("rollout", "64x512", "sb3"): 3, STEPS: 7}
    assert "rollout 64x512" in rollouts(rooms_of(leads(smaller))).figures[0]


def test_leads_whose_intervals_overlap_leave_a_finding_open() -> None:
    # Each process of NumPy is twice as slow as the one before.
    scattered = [record for seed in SEEDS for record in timed(*GAE, 10 * 2**seed * OURS, [seed])]
    records = [*timed("gae", "T=2048", "torchforge", OURS), *scattered, *leads({**OTHERS, STEPS: 80})]
    assert advantages(rooms_of(records)).outcome is OPEN


def test_too_few_processes_decide_nothing() -> None:
    records = leads({STEPS: 200}) + timed("gae", "T=2048", "torchforge", OURS)
    few = timed("gae", "T=2048", "numpy", 100 * OURS, [1, 2, 3, 4])
    assert advantages(rooms_of(records + few)).outcome is NOT_MEASURED


def test_other_work_decides_nothing() -> None:
    vectorised = {("env-vector", "n=256", "gymnasium-vectorised"): 500, GAE: 100, **OTHERS}
    found = advantages(rooms_of(leads(vectorised)))
    assert found.outcome is NOT_MEASURED
    assert found.figures == ("it also needs ranked ratios of env-vector",)


@pytest.mark.parametrize(
    ("parts", "outcome"),
    [
        ([HOLDS, HOLDS], HOLDS),
        ([HOLDS, OPEN], OPEN),
        ([OPEN, FAILS, HOLDS], FAILS),
        ([], NOT_MEASURED),
    ],
)
def test_one_part_that_fails_refutes_a_claim_and_one_that_is_open_leaves_it_open(
    parts: list[Outcome], outcome: Outcome
) -> None:
    assert together(parts) is outcome


def test_nothing_is_measured_where_nothing_was_run() -> None:
    found = [finding({}) for finding in FINDINGS]
    assert {each.outcome for each in found} == {NOT_MEASURED}
    assert len({each.claim for each in found}) == len(found) == 11


def drawn(*, tail: Mapping[str, float]) -> Rooms:
    """Rooms in which draws were timed one by one: a microsecond, and so many at the 99th percentile."""
    return rooms_of(
        [
            record
            for name, seconds in tail.items()
            for record in timed(
                *("draw-latency", "batch=1024", name, OURS),
                metrics={"seconds": [OURS], "batch_p50_seconds": OURS, "batch_p99_seconds": seconds},
            )
        ]
    )


@pytest.mark.parametrize(
    ("tail", "outcome"),
    [
        ({"torchforge": 2e-6, "sb3": 9e-6, "torchrl": 8e-6}, HOLDS),
        ({"torchforge": 2e-6, "sb3": 1e-6, "torchrl": 8e-6}, FAILS),
        ({"torchforge": 2e-6, "numpy": 9e-6}, NOT_MEASURED),
        ({"sb3": 2e-6}, NOT_MEASURED),
    ],
)
def test_a_shorter_tail_is_one_of_single_calls(tail: Mapping[str, float], outcome: Outcome) -> None:
    assert tails(drawn(tail=tail)).outcome is outcome


def test_a_tail_is_told_beside_its_median() -> None:
    figures = tails(drawn(tail={"torchforge": 2e-6, "sb3": 9e-6})).figures
    assert figures == ("torchforge: p50 1.00 µs, p99 2.00 µs", "sb3: p50 1.00 µs, p99 9.00 µs")


def test_a_launch_that_says_no_percentile_has_no_tail() -> None:
    records = [
        record
        for name in ("torchforge", "sb3")
        for record in timed("draw-latency", "batch=1024", name, OURS, metrics={"seconds": [OURS]})
    ]
    found = tails(rooms_of(records))
    assert (found.claim, found.outcome) == (CLAIM, NOT_MEASURED)
    assert "draw-latency batch=1024" in found.figures[0]
