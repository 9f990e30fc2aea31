"""What contradicts itself is refused on reading, whoever sealed it, and every published record says one thing."""

import json
from collections import Counter
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import program, small_matrix
from example_records import json_of
from msgspec.structs import replace
from mutations import Mutation, mutations, text_of

from runner.cli.main import main
from runner.records.audit import audit
from runner.records.audit_place import files
from runner.records.record import Record, seal
from runner.records.record_file import SelfContradiction, parse_record
from runner.records.store import Store
from runner.records.work import WorkReplay
from runner.system.errors import ContradictoryRecord, NewerRecord
from tests.fuzz import corpus
from tests.redteam.test_implementations import matrix as referees_matrix
from tests.redteam.test_trainings import matrix as trainings_matrix

# The fields that nothing in a record contradicts, each group with its reason. No figure is among them. A group more
# needs a review: at most ten.
FREE: dict[str, tuple[str, ...]] = {
    "settings whose figures are elsewhere in the key, or that changed no figure": (
        *("profile", "cell/limits", "launch/deadline_seconds", "launch/limits/enforced*"),
    ),
    "a description of the machine beyond what tells it from others, and its state beside the launch": (
        *(
            "machine/*",
            "machine",
            "launch/state",
            "launch/state/*",
            "launch/state_after",
            "launch/state_after/*",
        ),
        *("referee/windows/*/preemptions", "referee/windows/*/stolen_seconds"),
    ),
    "versions that no toolchain pins": ("software", "software/*"),
    "texts for people, and a kind of failure that only a later version knows": (
        *("launch/stderr_tail", "failure/detail", "failure/kind", "work/differs*", "gate/*/detail"),
    ),
    "hashes of what lies elsewhere": (
        *("inputs", "inputs/*", "outputs", "outputs/*", "image/identity", "image/*_digest", "work/core/*"),
    ),
    "what was drawn or chosen": (
        *("launch/id", "launch/cases", "launch/limits/cpuset", "launch/limits/siblings*", "referee/nonce"),
    ),
    "what another run of the work needs": (
        *("work/inputs/cases*", "work/kind", "work/reference/implementation", "work/reference/seed"),
        *("work/reference/determinism", "determinism", "work/target"),
    ),
    "one of the many tensors of a file": ("gate", "gate/*/check"),
    "how a process ended that the runner ended, and a child that was killed though all was delivered": (
        *("launch/exit_code", "launch/out_of_memory"),
    ),
    "schema 1, which holds no recipe": (
        *("SCHEMA 1/key", "SCHEMA 1/parameters*", "SCHEMA 1/command*", "SCHEMA 1/cell/toolchain"),
        *("SCHEMA 1/execution*", "SCHEMA 1/image/*", "SCHEMA 1/launch/limits/*"),
    ),
}
FIGURES = (
    "measurement/*",
    "episodes*",
    "referee/*",
    "launch/wall_seconds",
    "expected_counts*",
    "gate/*/share",
)
_LONGEST = 18_000
# What was drawn, and what disturbed a window: no page ranks by it.
NO_FIGURES = ("referee/nonce", "referee/windows/*/preemptions", "referee/windows/*/stolen_seconds")
# What is done to a figure that must be refused. docs/decisions/audit-on-reading.md says why smaller changes may not be.
GROSS = ("times 1000", "negative")


def published() -> list[bytes]:
    """Small records of both older schemas, of every kind of benchmark, native and emulated, ours and theirs."""
    chosen: dict[tuple[Any, ...], bytes] = {}
    for name in ("2026-11-21-quick", "2026-11-22-make-matrix"):
        for text in corpus.published_texts(name):
            # Each mutation seals and reads the whole again, and episodes are long.
            if len(text) < _LONGEST:
                data = json.loads(text)
                kind = (data["schema"], data["cell"]["benchmark"], data["execution"]["kind"])
                chosen[kind] = min(chosen.get(kind, text), text, key=len)
    return list(chosen.values())


@cache
def kept_in(folder: Path) -> tuple[Record, ...]:
    return tuple(Store(folder / "results").records())


def run_in(folder: Path, data: dict[str, Any]) -> tuple[Record, ...]:
    (folder / "matrix.yaml").write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    words = ["--matrix", str(folder / "matrix.yaml"), "--results", str(folder / "results")]
    main([*words, "--executor", "local"])
    return kept_in(folder)


@pytest.fixture(scope="module")
def of_today(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    """Records of schema 3 that real processes made: passed, failed in several ways, and led by a referee."""
    failing = {
        "exits": program("sys.exit(3)"),
        "silent": program("pass"),
        "hangs": program("time.sleep(60)"),
        "miscounts": program(
            """
            print(json.dumps({"event": "measurement", "case": "n=4", "metrics": {"seconds": [1e-6]},
                "counts": {"elements": 3}, "memory": {"vmhwm_bytes": None, "cgroup_peak_bytes": None}}))
            """
        ),
    }
    data = small_matrix(**failing)
    data["profiles"]["quick"]["seeds"]["native"] = [1]
    data["profiles"]["quick"]["deadline_seconds"]["native"] = 3
    found = {
        each.implementation: each
        for each in run_in(tmp_path_factory.mktemp("small"), data)
        if each.case == "n=4"
    }
    led = referees_matrix()
    implementations = led["benchmarks"]["sine"]["implementations"]
    led["benchmarks"]["sine"]["implementations"] = {
        name: implementations[name] for name in ("honest", "prints-a-nanosecond")
    }
    led["benchmarks"]["sine"]["profiles"]["quick"]["native"]["seconds_limit"] = 0.5
    found |= {each.implementation: each for each in run_in(tmp_path_factory.mktemp("led"), led)}
    trained = trainings_matrix()
    training = trained["benchmarks"]["walk"]["implementations"].pop("honest")
    trained["benchmarks"]["walk"]["implementations"] = {"audited": training}
    trained["profiles"]["quick"]["seeds"]["native"] = [1]
    found |= {each.implementation: each for each in run_in(tmp_path_factory.mktemp("trained"), trained)}
    return found


def is_free(mutation: Mutation, schema: int) -> bool:
    """Whether a field is on the reviewed list."""
    names = [mutation.field, f"SCHEMA {schema}/{mutation.field}"]
    return any(
        fnmatchcase(name, pattern) for name in names for patterns in FREE.values() for pattern in patterns
    )


def is_figure(mutation: Mutation) -> bool:
    return any(fnmatchcase(mutation.field, each) for each in FIGURES) and mutation.field not in NO_FIGURES


def refused(mutation: Mutation) -> bool:
    try:
        parse_record(text_of(mutation.record))
    except (ValueError, NewerRecord):
        return True
    return False


def ranks_nothing(mutation: Mutation) -> bool:
    """Whether the change takes a record's rank away: its window is then too short to say anything."""
    return not parse_record(text_of(mutation.record)).judged


def is_a_slower_channel(mutation: Mutation) -> bool:
    """Whether it says a slower round trip, by which a record can only lose its rank: a fast channel's is still short."""
    return mutation.field == "referee/channel_seconds" and mutation.how == "times 1000"


def is_of_a_failure(mutation: Mutation, data: dict[str, Any]) -> bool:
    """Whether it is what a referee saw of a cell that failed: nothing is ranked by it."""
    return data["failure"] is not None and mutation.field.startswith("referee/")


def tried(data: dict[str, Any]) -> tuple[Counter[str], list[str]]:
    """How many mutations of a record were refused, were of free fields or too small, and which others were not."""
    counted: Counter[str] = Counter()
    believed = []
    parse_record(json.dumps(data).encode())
    for each in mutations(data):
        if refused(each):
            counted["refused"] += 1
        elif is_free(each, data["schema"]):
            counted["free"] += 1
        elif is_figure(each) and (
            each.how not in GROSS
            or is_of_a_failure(each, data)
            or is_a_slower_channel(each)
            or ranks_nothing(each)
        ):
            counted["too small"] += 1
        else:
            believed.append(f"{each.field} {each.how}")
    return counted, believed


def test_the_list_of_free_fields_is_short_and_holds_no_figure() -> None:
    assert len(FREE) <= 10
    patterns = [pattern for group in FREE.values() for pattern in group]
    assert not [each for each in patterns if each not in NO_FIGURES and is_figure_pattern(each)]


def is_figure_pattern(pattern: str) -> bool:
    return any(fnmatchcase(pattern, each) for each in FIGURES)


@pytest.mark.parametrize("text", published(), ids=lambda text: json.loads(text)["launch"]["id"])
def test_each_field_of_a_published_record_is_free_or_its_change_is_refused(text: bytes) -> None:
    counted, believed = tried(json.loads(text))
    assert not believed, "; ".join(believed)
    assert counted["refused"] > 4 * counted["too small"]


@pytest.mark.parametrize(
    "name", ["plain", "exits", "silent", "hangs", "miscounts", "honest", "prints-a-nanosecond", "audited"]
)
def test_each_field_of_a_record_of_today_is_free_or_its_change_is_refused(
    of_today: dict[str, Record], name: str
) -> None:
    _, believed = tried(json_of(of_today[name]))
    assert not believed, "; ".join(believed)


@pytest.mark.parametrize("channel", [1e-9, 1e-5, 1e-4, 1e-3, 0.1])
def test_a_slower_channel_never_gives_a_rank(of_today: dict[str, Record], channel: float) -> None:
    for name in ("honest", "audited"):
        referee = of_today[name].referee
        assert referee
        before = replace(of_today[name], referee=replace(referee, channel_seconds=channel))
        after = replace(before, referee=replace(referee, channel_seconds=1000 * channel))
        assert before.judged or not after.judged


def test_the_channel_of_the_fastest_machine_is_no_contradiction(of_today: dict[str, Record]) -> None:
    """A thousand times its round trip is still short beside a window, so that nothing in the record can refuse it."""
    data = json_of(of_today["audited"])
    data["referee"]["channel_seconds"] = 1e-6
    del data["content_sha256"]
    _, believed = tried(seal(data))
    assert not believed, "; ".join(believed)


def test_the_failures_of_today_are_those_that_are_meant(of_today: dict[str, Record]) -> None:
    assert {name: each.failure.kind if each.failure else None for name, each in of_today.items()} == {
        "plain": None,
        "exits": "exit-code",
        "silent": "missing-measurement",
        "hangs": "deadline",
        "miscounts": "wrong-counts",
        "honest": None,
        "prints-a-nanosecond": "unaccounted-time",
        "audited": None,
    }


@pytest.mark.parametrize("publication", corpus.publications())
def test_no_published_record_contradicts_itself(publication: str) -> None:
    for text in corpus.published_texts(publication):
        record = parse_record(text)
        assert audit(record) == (), record.identifier


def changed(change: Callable[[dict[str, Any]], Any], *, kind: str = "gae") -> bytes:
    """A published record with a change, sealed anew as anybody can."""
    text = next(
        text
        for text in corpus.published_texts("2026-11-22-make-matrix")
        if json.loads(text)["cell"]["benchmark"] == kind
    )
    data = json.loads(text)
    del data["content_sha256"]
    change(data)
    return text_of(seal(data))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data["launch"].update(wall_seconds=1e-6), "the times"),
        (lambda data: data["launch"].update(exit_code=1), "the exit code is 1, and the cell passed"),
        (lambda data: data.update(created_at="2026-01-01T00:00:00+00:00"), "before its launch ended"),
        (lambda data: data.update(created_at="2027-01-01T00:00:00+00:00"), "more than a day after"),
        (lambda data: data.update(key="0" * 64), "the content gives the key"),
        (lambda data: data["parameters"].update(repetitions=1), "the content gives the key"),
        (lambda data: data["image"].update(execution_hash="0" * 64), "the content gives the key"),
        (lambda data: data["launch"]["limits"].update(cpuset="0,1"), "ask for 1 CPUs, and the CPU set 0,1"),
        (lambda data: data["launch"]["limits"].update(threads=2), "asks for threads 1, and 2 was in force"),
        (lambda data: data["measurement"]["counts"].update(elements=7), "of the counts"),
        (lambda data: data["expected_counts"].update(elements=7), "the record expects elements 7"),
        (lambda data: data.update(failure={"kind": "deadline", "detail": "late"}), "the failure is deadline"),
        (lambda data: data["gate"][0].update(passed=False), "the checks counts failed, and the cell passed"),
        (lambda data: data["gate"][2].update(share=2.0), "passed with 2 of what is allowed"),
        (lambda data: data.update(gate=[]), "the gate made no check, and the cell passed"),
        (lambda data: data["measurement"].update(case="T=1"), "the measurement is of T=1"),
        (
            lambda data: data["measurement"]["memory"].update(vmhwm_bytes=2**40),
            "reached 1099511627776 bytes of memory",
        ),
        (lambda data: data["software"].update(python="3.12.0"), "the toolchain pins 3.13.5"),
    ],
)
def test_a_contradiction_is_named(change: Callable[[dict[str, Any]], Any], said: str) -> None:
    with pytest.raises(SelfContradiction, match="it contradicts itself: ") as caught:
        parse_record(changed(change))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            {"batch_p50_seconds": 2e-9, "batch_p99_seconds": 1e-9},
            "batch_p50_seconds is 2e-09, and batch_p99_seconds",
        ),
        ({"batch_p999_seconds": 2e-9, "batch_max_seconds": 1e-9}, "batch_p999_seconds is 2e-09"),
        ({"batch_p50_seconds": 2e-9, "batch_max_seconds": 1e-9}, "batch_p50_seconds is 2e-09"),
        ({"batch_max_seconds": 1e3}, "batch_max_seconds is 1000, and seconds is only"),
        ({"first_batch_seconds": 1e3}, "first_batch_seconds is 1000, and seconds is only"),
    ],
)
def test_batches_that_no_launch_can_have_timed_are_named(said: dict[str, float], why: str) -> None:
    with pytest.raises(SelfContradiction, match=why):
        parse_record(changed(lambda data: data["measurement"]["metrics"].update(said)))


def test_batches_whose_percentiles_ascend_within_what_was_timed_are_no_contradiction() -> None:
    names = ("first_batch", "batch_p50", "batch_p99", "batch_p999", "batch_max")
    said = {f"{name}_seconds": 1e-9 * number for number, name in enumerate(names)}
    assert parse_record(changed(lambda data: data["measurement"]["metrics"].update(said)))


def test_a_return_that_no_episode_can_earn_is_named() -> None:
    with pytest.raises(SelfContradiction, match="episode 3 earned 999 in"):
        parse_record(changed(lambda data: data["episodes"][3].update({"return": 999.0}), kind="dqn"))


def test_an_audit_that_passed_while_most_of_it_was_not_timed_is_named() -> None:
    text = next(
        text
        for text in corpus.published_texts("2026-11-26-gae-dqn")
        if "audit" in ((data := json.loads(text)).get("referee") or {})
        and data["cell"]["implementation"] == "rust"
    )
    data = json.loads(text)
    del data["content_sha256"]
    seen = data["referee"]["audit"]
    seen["between_seconds"] = 0.6 * seen["seconds"]
    with pytest.raises(SelfContradiction, match=r"the audit passed, and .* were not timed"):
        parse_record(text_of(seal(data)))


def test_a_log_of_the_environments_is_due_unless_they_may_be_its_own(of_today: dict[str, Record]) -> None:
    record = of_today["audited"]
    assert record.work
    gate = record.work.gate
    assert gate.digest
    replay = WorkReplay(actions="log.npy", weights="weights.npy")
    work = replace(record.work, gate=replace(gate, digest={**gate.digest, "log.npy": "*"}, replay=replay))
    said = [each.why for each in files(replace(record, work=work))]
    assert len(said) == 1
    assert "/log.npy" in said[0]
    other = replace(work, differs=("its environments are its own",))
    assert not [*files(replace(record, work=other))]


def test_a_store_refuses_it_with_an_error_of_its_own_and_says_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "records" / "gae"
    folder.mkdir(parents=True)
    (folder / "x.json").write_bytes(changed(lambda data: data["launch"].update(exit_code=1)))
    with pytest.raises(ContradictoryRecord, match=r"x\.json contradicts itself") as caught:
        Store(tmp_path).records()
    assert "the exit code is 1, and the cell passed" in caught.value.why
    assert "take the record again from its source" in caught.value.fix


def test_a_key_by_rules_of_a_later_version_is_of_a_newer_version(of_today: dict[str, Record]) -> None:
    data = json_of(of_today["plain"])
    del data["content_sha256"]
    data["key_version"] = 99
    with pytest.raises(NewerRecord, match="newer version") as caught:
        parse_record(text_of(seal(data)))
    assert "rules 99 made its key" in caught.value.why


def test_what_no_launch_can_have_done_is_a_failure_of_the_program(tmp_path: Path) -> None:
    boasting = """
        for case, parameters in pairs:
            x = np.load(arguments.input / case / "x.npy")
            (arguments.output / case).mkdir(parents=True)
            np.save(arguments.output / case / "y.npy", x * 2)
            print(json.dumps({"event": "measurement", "case": case, "metrics": {"seconds": [1e-6]},
                "counts": {"elements": len(x)}, "memory": {"vmhwm_bytes": 2**50, "cgroup_peak_bytes": None}}))
    """
    data = small_matrix(boasting=program(boasting))
    found = {each.implementation: each for each in run_in(tmp_path, data)}
    assert found["plain"].failure is None
    failure = found["boasting"].failure
    assert failure is not None
    assert failure.kind == "malformed-output"
    assert "bytes of memory" in failure.detail
