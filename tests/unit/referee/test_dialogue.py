"""The referee against scripted processes: what it orders, what it notes, and what breaks the conversation."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.executors.channel import Seen
from runner.records.failure import FailureKind
from runner.records.refereed import SIZES, numbered
from runner.referee.claims import Claims
from runner.referee.dialogue import ROUND_TRIPS, Assignment, Dialogue, Reference
from runner.referee.nonce import draw
from runner.referee.sizes import REHEARSED, Plan

Order = dict[str, Any]


class Process:
    """A process that answers each order at once.

    ``bend`` changes an answer; ``seconds`` is how long a repetition takes.
    """

    def __init__(
        self, *, seconds: float = 1e-3, bend: Callable[[Order, Order], Order | None] | None = None
    ) -> None:
        self.orders: list[Order] = []
        self.closed = False
        self._seconds, self._bend = seconds, bend or (lambda _, answer: answer)
        self._now = self._waited = 0.0
        self._pending: list[tuple[str, float]] = []

    def hurry(self, seconds: float) -> None:
        """From now on a repetition takes so long."""
        self._seconds = seconds

    def send(self, line: str) -> float:
        began, order = self._now, json.loads(line)
        self.orders.append(order)
        repetitions = order["repetitions"]
        if order["event"] == "go":
            self._now += 1e-5 + self._seconds * repetitions
            answer: Order = {
                "event": "done",
                "case": order["case"],
                "metrics": {"seconds": [self._seconds] * repetitions},
                "counts": {"elements": 1},
                "between_seconds": 0.0,
                "digests": ["0" * 16] * repetitions,
            }
        else:
            answer = {"event": "written", "case": order["case"]}
        bent = self._bend(order, answer)
        if bent is not None:
            self._pending.append((json.dumps(bent), self._now))
        return began

    def wait(self, seconds: float) -> None:
        """Others have the processor for so long."""
        self._now += seconds
        self._waited += seconds

    def close(self) -> None:
        self.closed = True

    def look(self) -> Seen:
        return Seen(cpu_seconds=self._now - self._waited, is_all=True)

    def peak_bytes(self) -> int | None:
        return 4096

    def lead(self, dialogue: Dialogue, first: str = '{"event": "ready"}') -> None:
        dialogue.opened(self)
        dialogue.heard(first, self._now)
        while self._pending:
            dialogue.heard(*self._pending.pop(0))


def dialogue(
    *cases: str,
    plan: Plan | None = None,
    reference: bool = False,
    most: int = 10_000,
    between: float = 1e-5,
    seed: int | None = None,
    audit_seed: int | None = None,
) -> Dialogue:
    sizes = plan or Plan(warmup=5, repetitions=100)
    return Dialogue(
        cases={
            case: Assignment(
                draw=draw(b"secret", benchmark="b", case=case, seed=1),
                plan=sizes,
                claims=Claims(headline="seconds", calls=1),
                reference=None if reference else Reference(between_seconds=between, most_repetitions=most),
                seed=seed,
                audit_seed=audit_seed,
            )
            for case in cases
        },
        on_progress=lambda _: None,
    )


def test_a_launch_is_led_through_all_of_its_cases_and_then_ends() -> None:
    process, referee = Process(), dialogue("a", "b")
    process.lead(referee)
    assert referee.failure is None
    assert process.closed
    assert [each.ranked.repetitions for each in referee.seen.values()] == [range(100, 200)] * 2
    measurement = referee.measurement("a")
    assert measurement is not None
    assert len(measurement["metrics"]["seconds"]) == 100


def test_round_trips_without_work_come_first_and_once() -> None:
    process, referee = Process(), dialogue("a", "b")
    process.lead(referee)
    empty = [order for order in process.orders if order["repetitions"] == 0]
    assert process.orders[:ROUND_TRIPS] == empty
    assert referee.channel_seconds == pytest.approx(1e-5)


def test_outputs_are_asked_for_after_the_last_window_alone() -> None:
    process, referee = Process(), dialogue("a")
    process.lead(referee)
    *windows, asked = process.orders
    assert all(order["event"] == "go" for order in windows)
    assert asked["event"] == "outputs"
    assert tuple(asked["repetitions"]) == referee.seen["a"].asked
    assert all(100 <= each < 200 for each in asked["repetitions"])


def test_a_reference_is_asked_for_all_that_a_competitor_may_be_asked_for() -> None:
    process, reference = Process(), dialogue("a", reference=True)
    process.lead(reference)
    drawn = draw(b"secret", benchmark="b", case="a", seed=1)
    sizes = Plan(repetitions=100).sizes(1e-3, channel_seconds=reference.channel_seconds)
    assert len(sizes) > 2
    assert max(sizes) == reference.seen["a"].most_repetitions
    for size in sizes:
        assert {*drawn.repetitions_of(numbered(size))} <= {*reference.seen["a"].asked}


def test_no_round_has_a_repetition_of_another() -> None:
    process, referee = Process(bend=halve), dialogue("a")
    process.lead(referee)
    rounds = [
        range(order["first"], order["first"] + order["repetitions"])
        for order in process.orders
        if order["event"] == "go"
    ]
    assert sum(map(len, rounds)) == len(set().union(*rounds))
    assert any(each.start >= REHEARSED for each in rounds)


def test_the_window_is_what_the_referee_saw_and_not_what_was_claimed() -> None:
    process, referee = Process(seconds=2e-3), dialogue("a")
    process.lead(referee)
    assert referee.seen["a"].ranked.seconds == pytest.approx(100 * 2e-3 + 1e-5)


def halve(order: Order, answer: Order) -> Order:
    """Claim half of each repetition."""
    if order["event"] == "go":
        answer["metrics"]["seconds"] = [each / 2 for each in answer["metrics"]["seconds"]]
    return answer


def test_a_window_that_claims_do_not_fill_is_opened_again_and_longer() -> None:
    process, referee = Process(bend=halve), dialogue("a")
    process.lead(referee)
    seen = referee.seen["a"]
    assert seen.void_windows > 0
    assert len(seen.ranked.repetitions) > 100
    assert not seen.ranked.account(
        Claims(headline="seconds", calls=1), channel_seconds=1e-5, between_seconds=None
    ).sound


def test_a_window_in_which_others_had_the_processor_is_kept() -> None:
    def disturbed(order: Order, answer: Order) -> Order:
        """A twelfth of each window is a wait of the launch."""
        if order["event"] == "go" and order["repetitions"]:
            process.wait(order["repetitions"] * 1e-3 / 11)
        return answer

    process, referee = Process(bend=disturbed), dialogue("a")
    process.lead(referee)
    assert referee.seen["a"].void_windows == 0


@pytest.mark.parametrize(("share", "void"), [(0.45, 0), (0.6, 1), (0.9, 1)])
def test_a_window_with_too_much_between_is_opened_again_once(share: float, void: int) -> None:
    def prepare(order: Order, answer: Order) -> Order:
        """Claim this share as work beside the timed parts."""
        if order["event"] == "go":
            answer["between_seconds"] = share * sum(answer["metrics"]["seconds"])
            answer["metrics"]["seconds"] = [(1 - share) * each for each in answer["metrics"]["seconds"]]
        return answer

    process, referee = Process(bend=prepare), dialogue("a", between=1e-3)
    process.lead(referee)
    assert referee.seen["a"].void_windows == void


def test_a_window_that_is_too_short_for_its_channel_is_opened_again_and_longer() -> None:
    def faster(order: Order, answer: Order) -> Order:
        """Warm up slowly, so that the size of the ranked round is too small."""
        if order["event"] == "go" and order["first"] >= REHEARSED:
            process.hurry(1e-6)
        return answer

    process, referee = Process(bend=faster), dialogue("a", plan=Plan(warmup=5, repetitions=5))
    process.lead(referee)
    seen = referee.seen["a"]
    assert seen.void_windows > 0
    assert seen.ranked.seconds >= 20 * referee.channel_seconds


def test_no_window_is_longer_than_what_the_reference_was_asked_for() -> None:
    process, referee = Process(bend=halve), dialogue("a", most=500)
    process.lead(referee)
    assert len(referee.seen["a"].ranked.repetitions) == 500


def test_a_window_is_not_opened_again_where_that_would_take_long() -> None:
    process, referee = Process(seconds=0.1, bend=halve), dialogue("a")
    process.lead(referee)
    # 100 repetitions are 10 s, and the next size would be 50 s.
    assert len(referee.seen["a"].ranked.repetitions) == 100
    assert referee.seen["a"].void_windows == 0


def test_a_training_is_one_window_and_never_opened_again() -> None:
    process, referee = Process(bend=halve), dialogue("a", plan=Plan(training=True))
    process.lead(referee)
    assert [order["repetitions"] for order in process.orders[ROUND_TRIPS:]] == [1, [1]]
    assert referee.seen["a"].void_windows == 0


def audited() -> Dialogue:
    return dialogue("a", plan=Plan(training=True), seed=3, audit_seed=77)


def test_a_training_is_told_its_seed_and_an_operation_none() -> None:
    process, referee = Process(), dialogue("a", plan=Plan(training=True), seed=3)
    process.lead(referee)
    assert {order.get("seed") for order in process.orders if order["event"] == "go"} == {3}
    assert referee.seen["a"].audit is None
    operation = Process()
    operation.lead(dialogue("a"))
    assert not [order for order in operation.orders if "seed" in order]


def test_an_audit_follows_the_ranked_training_with_a_seed_that_nobody_knew() -> None:
    process, referee = Process(), audited()
    process.lead(referee)
    orders = process.orders[ROUND_TRIPS:]
    assert [order["event"] for order in orders] == ["go", "outputs", "go", "outputs"]
    assert [orders[0]["seed"], orders[2]["seed"]] == [3, 77]
    # The outputs of each are asked for before the next begins, as a program keeps those of one alone.
    assert orders[1]["repetitions"] == [orders[0]["first"]]
    assert orders[3]["repetitions"] == [orders[2]["first"]] != orders[1]["repetitions"]
    audit = referee.seen["a"].audit
    assert audit is not None
    assert (audit.seed, audit.window.repetitions) == (77, range(2, 3))
    assert len(referee.seen["a"].windows) == 1


def slow_audits(times: int) -> Callable[[Order, Order], Order]:
    """The first so many unknown seeds take twice the time of the known one."""

    def bend(order: Order, answer: Order) -> Order:
        if 77 <= order.get("seed", 0) < 77 + times:
            answer["metrics"]["seconds"] = [2e-3]
        return answer

    return bend


@pytest.mark.parametrize(
    ("times", "seeds"),
    [(0, [3, 77]), (1, [3, 77, 3, 78]), (2, [3, 77, 3, 78, 3, 79]), (9, [3, 77, 3, 78, 3, 79])],
)
def test_a_slow_audit_is_made_again_after_one_more_training_with_the_known_seed(
    times: int, seeds: list[int]
) -> None:
    process, referee = Process(bend=slow_audits(times)), audited()
    process.lead(referee)
    orders = process.orders[ROUND_TRIPS:]
    assert [order["seed"] for order in orders if order["event"] == "go"] == seeds
    # Outputs are asked for after each training, so those of the last pair are what is judged.
    assert [order["event"] for order in orders] == ["go", "outputs"] * len(seeds)
    audit = referee.seen["a"].audit
    assert audit is not None
    assert audit.seed == seeds[-1]
    assert referee.seen["a"].void_windows == len(seeds) // 2 - 1


def test_the_training_that_is_ranked_is_the_one_that_the_last_audit_was_compared_with() -> None:
    """Who makes the second training with the known seed slow, to look like the audit, is ranked by it."""
    trainings = iter([1e-3, 2e-3, 2e-3, 2e-3])

    def bend(order: Order, answer: Order) -> Order:
        if "seed" in order and order.get("repetitions"):
            answer["metrics"]["seconds"] = [next(trainings)]
        return answer

    process, referee = Process(bend=bend), audited()
    process.lead(referee)
    seen = referee.seen["a"]
    assert seen.ranked.done.metrics["seconds"] == (2e-3,)
    assert seen.void_windows == 1


def test_one_repetition_is_one_window_without_warming_up() -> None:
    process, referee = Process(), dialogue("a", plan=Plan())
    process.lead(referee)
    assert [order["repetitions"] for order in process.orders[ROUND_TRIPS:]] == [1, [1]]


BREAKS: dict[str, Callable[[Order], Order]] = {
    "another case": lambda answer: answer | {"case": "c"},
    "too few digests": lambda answer: answer | {"digests": ["0" * 16] * 3},
    "written where done is due": lambda _: {"event": "written", "case": "a"},
    "no digest": lambda answer: {key: value for key, value in answer.items() if key != "digests"},
    "an unknown key": lambda answer: answer | {"x": 1},
    "an unknown event": lambda _: {"event": "finished"},
    "a figure below zero": lambda answer: answer | {"between_seconds": -1.0},
    "a count with a point": lambda answer: answer | {"counts": {"elements": 1.0}},
    "no counts where there are repetitions": lambda answer: answer | {"counts": {}},
    "no metrics where there are repetitions": lambda answer: answer | {"metrics": {}},
}


@pytest.mark.parametrize("bend", BREAKS.values(), ids=BREAKS)
def test_what_breaks_the_protocol_ends_the_conversation(bend: Callable[[Order], Order]) -> None:
    process, referee = Process(bend=lambda _, answer: bend(answer)), dialogue("a")
    process.lead(referee)
    assert process.closed
    failure = referee.failure_of("a")
    assert failure is not None
    assert failure.kind is FailureKind.MALFORMED_OUTPUT


def test_an_answer_that_was_written_before_its_question_ends_the_conversation() -> None:
    process, referee = Process(bend=lambda *_: None), dialogue("a")
    process.lead(referee)
    empty = {"event": "done", "case": "a", "metrics": {"seconds": []}, "counts": {}, "between_seconds": 0.0}
    referee.heard(json.dumps(empty | {"digests": []}), -1e9)
    failure = referee.failure_of("a")
    assert failure is not None
    assert failure.detail == "said done before go"


def test_a_reference_is_asked_for_every_size_between_two_that_it_is_asked_for() -> None:
    process, referee = Process(), dialogue("a", reference=True, plan=Plan(warmup=5, repetitions=100))
    process.lead(referee)
    asked = referee.seen["a"].asked
    sizes = [size for size in SIZES if {*numbered(size)} & {*asked}]
    assert sizes == [size for size in SIZES if sizes[0] <= size <= sizes[-1]]


def test_an_infinite_figure_is_named_as_such() -> None:
    referee = dialogue("a")
    referee.opened(Process())
    referee.heard('{"event": "done", "case": "a", "metrics": {"seconds": [1e999]}}', 0.0)
    failure = referee.failure_of("a")
    assert failure is not None
    assert failure.kind is FailureKind.NOT_FINITE


def test_a_process_that_ends_early_has_no_measurement() -> None:
    process = Process(bend=lambda order, answer: answer if order["event"] == "go" else None)
    referee = dialogue("a", "b")
    process.lead(referee)
    for case in ("a", "b"):
        failure = referee.failure_of(case)
        assert failure is not None
        assert failure.kind is FailureKind.MISSING_MEASUREMENT


KEYS = st.sampled_from(["event", "case", "digests", "metrics", "done", "total"])
EVENTS = st.dictionaries(KEYS, st.none() | st.text(max_size=5))


@given(st.lists(st.text(max_size=30) | EVENTS.map(json.dumps), max_size=5))
def test_whatever_is_said_becomes_a_conversation_or_a_failure(lines: list[str]) -> None:
    referee = dialogue("a")
    referee.opened(Process())
    for line in lines:
        referee.heard(line, 0.0)
    assert referee.failure_of("a") is not None
