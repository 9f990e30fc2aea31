"""The rules by which a figure is reproduced, differs, or is left open."""

import json
import math
from typing import Any

import pytest
from example_records import LIMITS, example_work, make_record, referee_facts
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from examples import examples
from runner.figures.statistics import Interval
from runner.records.image import ImageFacts
from runner.records.measured import Episode
from runner.records.record import Record
from runner.verify.findings import TOLERANCE, Pair, Verdict
from runner.verify.images import Likeness, StandIn, likeness
from runner.verify.judge import by_interval, exact, judge, verdict_of
from runner.verify.report import Report, as_json, as_text
from verify.made import varied

RATIOS = st.floats(min_value=0.01, max_value=100)


@st.composite
def intervals(draw: st.DrawFn, least: int = 5, ratios: st.SearchStrategy[float] = RATIOS) -> Interval:
    low, value, high = sorted(draw(st.tuples(ratios, ratios, ratios)))
    return Interval(value=value, low=low, high=high, n=draw(st.integers(least, 50)))


@given(intervals())
def test_what_holds_1_never_differs(ratio):
    assume(ratio.low <= 1 <= ratio.high)
    assert verdict_of(ratio)[0] is not Verdict.DIFFERS


@given(intervals())
def test_what_lies_outside_of_the_tolerance_always_differs_and_nothing_else_does(ratio):
    outside = ratio.high < TOLERANCE[0] or ratio.low > TOLERANCE[1]
    assert (verdict_of(ratio)[0] is Verdict.DIFFERS) == outside


@given(intervals(ratios=st.floats(*TOLERANCE)))
def test_what_lies_within_the_tolerance_is_always_reproduced(ratio):
    assert verdict_of(ratio)[0] is Verdict.REPRODUCED


@given(intervals())
def test_no_figure_is_reproduced_whose_middle_is_out_of_tolerance(ratio):
    assume(not TOLERANCE[0] <= ratio.value <= TOLERANCE[1])
    assert verdict_of(ratio)[0] is not Verdict.REPRODUCED


@given(intervals(least=1), st.integers(1, 4))
def test_fewer_than_five_processes_decide_nothing(ratio, n):
    few = Interval(value=ratio.value, low=ratio.low, high=ratio.high, n=n)
    assert verdict_of(few)[0] is Verdict.INCONCLUSIVE
    assert verdict_of(Interval(value=1.0, low=None, high=None, n=1))[0] is Verdict.INCONCLUSIVE


@given(intervals())
def test_twice_as_fast_is_as_far_as_twice_as_slow(ratio):
    assume(
        all(
            abs(math.log(bound / edge)) > 1e-9
            for bound in (ratio.low, ratio.value, ratio.high)
            for edge in (*TOLERANCE, 1)
        )
    )
    turned = Interval(value=1 / ratio.value, low=1 / ratio.high, high=1 / ratio.low, n=ratio.n)
    assert verdict_of(turned)[0] is verdict_of(ratio)[0]


def work(data: dict[str, Any]) -> None:
    """The two things that the judge reads of a record's work and launch."""
    data["work"] = example_work()
    data["launch"]["cases"] = [data["cell"]["case"]]


def pair(
    seconds: float, again: float, *, seed: int = 1, like: Likeness = Likeness.SAME, **changes: Any
) -> Pair:
    old, new = (
        varied(make_record(seed=seed, metrics={"seconds": [value * (1 + seed / 1000)]}, **changes), work)
        for value in (seconds, again)
    )
    return Pair(old=old, new=new, why_not=None, likeness=like)


def verdicts(pairs: list[Pair]) -> dict[str, Verdict]:
    return {found.figure: found.verdict for found in by_interval(pairs)}


@pytest.mark.parametrize(
    ("again", "verdict"),
    [
        (1e-3, Verdict.REPRODUCED),
        (1.2e-3, Verdict.REPRODUCED),
        (1.5e-3, Verdict.DIFFERS),
        (0.5e-3, Verdict.DIFFERS),
    ],
)
def test_five_processes_a_side_decide(again, verdict):
    assert verdicts([pair(1e-3, again, seed=seed) for seed in range(1, 6)])["seconds"] is verdict


def test_the_newest_record_of_a_seed_counts_once():
    pairs = [pair(1e-3, 1e-3, seed=1) for _ in range(5)]
    (found,) = (each for each in by_interval(pairs) if each.figure == "seconds")
    assert (found.verdict, found.ratio.n) == (Verdict.INCONCLUSIVE, 1)


def test_peak_memory_is_informational_and_only_of_processes_that_served_the_same_cases():
    def twice(each: Pair, cases: list[str]) -> Pair:
        def change(data: dict[str, Any]) -> None:
            data["measurement"]["memory"]["vmhwm_bytes"] *= 2
            data["launch"]["cases"] = cases

        return Pair(old=each.old, new=varied(each.new, change), why_not=None, likeness=each.likeness)

    pairs = [pair(1e-3, 1e-3, seed=seed) for seed in range(1, 6)]
    for cases, verdict in ((["T=128"], Verdict.DIFFERS), (["T=128", "T=512"], Verdict.INCONCLUSIVE)):
        found = {each.figure: each for each in by_interval([twice(each, cases) for each in pairs])}
        assert found["peak memory"].verdict is verdict
        assert found["peak memory"].informational
        assert not found["seconds"].informational


@pytest.mark.parametrize("execution", ["emulated", "unknown"])
def test_only_native_times_are_judged(execution):
    pairs = [pair(1e-3, 9e-3, seed=seed, execution=execution) for seed in range(1, 6)]
    found = next(each for each in by_interval(pairs) if each.figure == "seconds")
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.ratio is None
    assert (found.then, found.now) != (None, None), "both are shown"


def with_outputs(determinism: str, *, like: Likeness = Likeness.SAME, **new: Any) -> Pair:
    old = varied(make_record(determinism=determinism, outputs={"a.npy": "0" * 64}), work)
    other = varied(make_record(determinism=determinism, outputs={"a.npy": "1" * 64}, **new), work)
    return Pair(old=old, new=other, why_not=None, likeness=like)


def outputs_of(each: Pair) -> Verdict | None:
    return next((found.verdict for found in exact(each) if found.figure == "outputs"), None)


def test_machine_bytes_are_exact_on_the_same_machine_and_image_alone():
    assert outputs_of(with_outputs("machine")) is Verdict.DIFFERS
    for like in (Likeness.REBUILT, Likeness.SAME_CODE, Likeness.OTHER):
        assert outputs_of(with_outputs("machine", like=like)) is Verdict.INCONCLUSIVE
        assert outputs_of(with_outputs("portable", like=like)) is Verdict.DIFFERS
    assert outputs_of(with_outputs("machine", execution="emulated")) is Verdict.INCONCLUSIVE
    assert outputs_of(with_outputs("none")) is None


def test_a_machine_that_does_not_say_what_it_is_is_nobodys_machine():
    unknown = varied(
        make_record(determinism="machine", outputs={"a.npy": "0" * 64}),
        lambda data: (work(data), data["machine"].update(cpu_model=None)),
    )
    other = varied(unknown, lambda data: data["outputs"].update({"a.npy": "1" * 64}))
    each = Pair(old=unknown, new=other, why_not=None, likeness=Likeness.SAME)
    assert outputs_of(each) is Verdict.INCONCLUSIVE


def test_episodes_are_compared_one_by_one():
    episodes = [Episode(step=9, length=10, total=10.0), Episode(step=19, length=10, total=10.0)]
    old = varied(make_record(episodes=episodes), work)
    for change, said in (
        (lambda data: data["episodes"][1].update({"return": 11.0}), "episode 1"),
        (lambda data: data["episodes"].pop(), "episode 1"),
    ):
        new = varied(old, change)
        found = next(
            each
            for each in exact(Pair(old=old, new=new, why_not=None, likeness=Likeness.SAME))
            if each.figure == "episodes"
        )
        assert found.verdict is Verdict.DIFFERS
        assert said in found.why


def test_a_deadline_on_another_machine_says_nothing_and_on_the_same_it_does():
    failed = varied(make_record(failure=("deadline", "killed after 60 s")), work)
    passed = varied(make_record(), work)
    elsewhere = varied(failed, lambda data: data["machine"].update(cpu_model="A slow one"))
    for new, verdict in ((failed, Verdict.DIFFERS), (elsewhere, Verdict.INCONCLUSIVE)):
        gate = exact(Pair(old=passed, new=new, why_not=None, likeness=Likeness.SAME))[0]
        assert (gate.figure, gate.verdict) == ("gate", verdict)


FACTS = ImageFacts(
    target="core", architecture="amd64", identity="a" * 64, execution_hash="b" * 64,
    config_digest="sha256:" + "c" * 64, manifest_digest=None,
)  # fmt: skip


def changed(**changes: Any) -> ImageFacts:
    return replace(FACTS, **changes)


@pytest.mark.parametrize(
    ("found", "like"),
    [
        (FACTS, Likeness.SAME),
        (changed(manifest_digest="sha256:" + "d" * 64), Likeness.SAME),
        (changed(config_digest="sha256:" + "0" * 64), Likeness.REBUILT),
        # The record's digest is a manifest's where Docker names images by those.
        (changed(config_digest="sha256:" + "0" * 64, manifest_digest=FACTS.config_digest), Likeness.SAME),
        # An index has one digest for all architectures.
        (changed(architecture="arm64", identity="0" * 64, execution_hash="0" * 64), Likeness.OTHER),
        (changed(config_digest=None), Likeness.SAME),
        (changed(config_digest="sha256:" + "0" * 64, identity="0" * 64), Likeness.SAME_CODE),
        (changed(config_digest="sha256:" + "0" * 64, identity=None), Likeness.SAME_CODE),
        (changed(config_digest=None, identity=None, execution_hash="0" * 64), Likeness.OTHER),
    ],
)
def test_an_image_is_told_by_its_digest_then_by_its_files_then_by_what_executes(found, like):
    assert likeness(FACTS, found) is like


OTHER_DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("recorded", "found", "claimed"),
    [
        (FACTS, FACTS, False),
        (FACTS, changed(config_digest=OTHER_DIGEST, manifest_digest=FACTS.config_digest), False),
        (FACTS, changed(config_digest=OTHER_DIGEST), True),
        (FACTS, changed(config_digest=OTHER_DIGEST, identity=None), True),
        # A record that was made inside an image has no digest to compare with.
        (changed(config_digest=None), FACTS, True),
        (FACTS, changed(config_digest=None), True),
        # Nothing is said to be like.
        (FACTS, changed(config_digest=OTHER_DIGEST, identity=None, execution_hash="0" * 64), False),
        # A bare host: its files were hashed.
        (changed(config_digest=None, identity=None), changed(config_digest=None, identity=None), False),
    ],
)
def test_what_only_the_labels_of_an_image_say_is_shown_as_their_word(recorded, found, claimed):
    stand = StandIn(recorded=recorded, facts=found, likeness=likeness(recorded, found))
    assert stand.is_claimed is claimed
    assert ("labels" in str(stand)) is claimed
    shown = Report(judged=(), stand_ins=(stand,), launches=0, machine="Example CPU 9000", foreign={})
    assert ("no digest shows it" in as_text(shown)) is claimed
    assert json.loads(as_json(shown))["images"][0]["claimed"] is claimed


def report(pairs: list[Pair]) -> Report:
    return Report(
        judged=judge(pairs),
        stand_ins=(StandIn(recorded=FACTS, facts=FACTS, likeness=Likeness.SAME),),
        launches=len(pairs),
        machine="Example CPU 9000",
        foreign={},
    )


NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9=._-]{0,63}", fullmatch=True)


@examples(30)
@given(
    st.lists(st.tuples(NAMES, NAMES, st.sampled_from(["1", "0.7", "3"])), min_size=1, max_size=4),
    st.sampled_from(list(Likeness)),
)
def test_the_text_fits_eighty_columns_whatever_the_names_are(cells, like):
    pairs = [
        pair(
            1e-3,
            float(factor) * 1e-3,
            seed=seed,
            like=like,
            implementation=name,
            case=case,
            parameters={"length": 1},
        )
        for case, name, factor in cells
        for seed in (1, 2)
    ]
    text = as_text(report(pairs))
    assert max(map(len, text.splitlines())) <= 80


def test_json_holds_every_figure_and_the_summary_counts_those_that_decide():
    pairs = [pair(1e-3, 3e-3, seed=seed) for seed in range(1, 6)]
    found = json.loads(as_json(report(pairs)))
    figures = [each for cell in found["cells"] for each in cell["figures"]]
    assert {each["figure"] for each in figures} >= {
        "gate",
        "inputs",
        "outputs",
        "counts",
        "seconds",
        "peak memory",
    }
    deciding = [each["verdict"] for each in figures if not each["informational"]]
    assert {verdict: deciding.count(verdict) for verdict in found["summary"]} == found["summary"]
    assert found["summary"]["differs"] == 1
    assert found["tolerance"] == list(TOLERANCE)


def test_a_record_that_cannot_be_run_is_open_with_its_reason():
    old = make_record()
    (found,) = exact(
        Pair(old=old, new=None, why_not="cannot be run here: no program", likeness=Likeness.OTHER)
    )
    assert (found.verdict, found.why) == (Verdict.INCONCLUSIVE, "cannot be run here: no program")
    assert isinstance(old, Record)


@pytest.mark.parametrize(
    ("then", "now", "why"),
    [
        (
            {"cpuset": "0,1", "siblings": ["0,1"]},
            {"cpuset": "0,1", "siblings": []},
            "other cores: 2 CPUs on 2",
        ),
        ({"cpuset": "0"}, {"cpuset": "0,1"}, "other CPUs: 2, were 1"),
        ({"cpuset": "0,1"}, {"cpuset": "4,6", "siblings": []}, None),
        ({"cpuset": None}, {"cpuset": "0,1"}, None),
    ],
)
def test_times_on_other_cpus_or_cores_are_not_judged(then, now, why):
    old, new = (make_record(limits={**LIMITS, **each}) for each in (then, now))
    pair = Pair(old=old, new=new, why_not=None, likeness=Likeness.SAME)
    (found,) = [each for each in by_interval([pair]) if each.figure == "seconds"]
    assert found.why.startswith(why or "n = 1")


def test_times_whose_windows_are_too_short_are_not_judged():
    def short(record: Record) -> Record:
        return replace(record, referee=referee_facts(seconds=1e-3))

    pairs = [pair(1e-3, 1.5e-3, seed=seed) for seed in range(1, 6)]
    assert verdicts(pairs)["seconds"] is Verdict.DIFFERS
    shortened = [
        Pair(old=each.old, new=short(each.new), why_not=None, likeness=each.likeness) for each in pairs
    ]
    (found,) = [each for each in by_interval(shortened) if each.figure == "seconds"]
    assert (found.verdict, found.why) == (Verdict.INCONCLUSIVE, "some windows are too short to be judged")
