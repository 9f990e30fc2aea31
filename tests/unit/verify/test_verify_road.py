"""The whole road of a verification with real processes: records, their cells run again, findings, exit code."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from example_records import json_of, make_record

from runner.matrix.images import CORE, ImageTarget
from runner.planning.cells import content_key
from runner.planning.recipe import load_work
from runner.records.execution import Execution, ExecutionKind
from runner.records.schema_text import SCHEMA
from runner.records.store import Store
from runner.system import machine
from runner.system.errors import (
    ContradictoryRecord,
    DamagedRecord,
    NothingDecided,
    OtherWork,
    UsageError,
    WrongImage,
)
from runner.system.schema import schema
from runner.verify.findings import Pair, Verdict
from runner.verify.images import Likeness
from runner.verify.judge import judge
from runner.verify.read import read_records
from verify.made import DOUBLER, NOISY, Forge, resealed, steered, varied

SMOKE = ("--profile", "smoke")
# What one process of a cell gives: bytes, and no time that could be judged.
UNDECIDED = NothingDecided.exit_code


@pytest.fixture
def forge(tmp_path, capsys) -> Forge:
    return Forge.of(tmp_path, capsys)


@pytest.fixture(scope="module")
def _made(tmp_path_factory):
    """The records of one implementation beside the reference, made once."""
    directory = tmp_path_factory.mktemp("made")
    Forge(directory=directory, read=lambda: ("", "")).run(*SMOKE, other=DOUBLER)
    return directory


@pytest.fixture
def made(_made, forge) -> Forge:
    shutil.copytree(_made, forge.directory, dirs_exist_ok=True)
    return forge


def test_a_store_of_deterministic_cells_is_reproduced(made):
    code, out, err = made.verify()
    assert code == UNDECIDED, err
    assert "reproduced, 0 differ" in out
    assert max(map(len, out.splitlines())) <= 80
    _, figures = made.figures()
    assert {name for name in figures if name.startswith("other")} == {
        f"other {figure}" for figure in ("gate", "inputs", "outputs", "counts", "software", "seconds", "rank")
    }
    for name, found in figures.items():
        expected = "inconclusive" if name.endswith(("seconds", "rank")) else "reproduced"
        assert {verdict for verdict, _ in found} == {expected}, name


def test_verification_needs_as_few_launches_as_the_records_did(made):
    originals = {record.launch.id for record in made.store.records()}
    _, out, _ = made.verify("--json")
    assert json.loads(out)["launches"] == len(originals) == 2


def test_one_record_brings_the_reference_that_its_gate_needs_and_no_more(made):
    path = next(
        path
        for path in made.store.records_directory.glob("*/*.json")
        if json.loads(path.read_text())["cell"]["implementation"] == "other"
    )
    code, out, _ = made.verify("--json", path=path)
    assert code == UNDECIDED
    found = json.loads(out)
    assert (found["launches"], len(found["cells"])) == (2, 1)


def test_the_cell_that_comes_out_of_a_record_has_the_key_of_the_record(made):
    for record in made.store.records():
        cell = load_work(record).cell
        assert record.key == content_key(
            cell,
            execution_hash=record.image.execution_hash,
            execution=Execution(kind=ExecutionKind.NATIVE, emulator=None),
            executor="local",
            machine=machine.fingerprint(),
        )
        assert list(schema(SCHEMA).faults(json_of(record))) == []


def test_a_gate_that_judges_drift_comes_out_of_a_record_as_it_went_in(made):
    record = next(iter(made.store.records()))

    def with_drift(data):
        data["work"]["gate"]["outputs"][0] |= {"scaled": 1e-4, "tensors": {"*loss": 1e-5}, "drift": 3.0}

    for change in (with_drift, lambda _: None):
        changed = varied(record, change)
        assert list(schema(SCHEMA).faults(json_of(changed))) == []
        gate = load_work(changed).cell.benchmark.gate
        assert gate.facts() == json_of(changed)["work"]["gate"]
    assert "drift" not in gate.facts()["outputs"][0]


def test_other_work_is_verified_without_outputs_to_compare(forge):
    def different(data):
        data["benchmarks"]["double"]["implementations"]["other"]["differs"] = ["it triples"]

    forge.run(*SMOKE, change=different, other=DOUBLER.replace("each * 2", "each * 3"))
    other = next(record for record in forge.store.records() if record.implementation == "other")
    assert (other.failed, other.differs, other.ranked) == (False, ("it triples",), False)
    assert load_work(other).cell.implementation.differs == ("it triples",)
    test_the_cell_that_comes_out_of_a_record_has_the_key_of_the_record(forge)
    code, _, err = forge.verify()
    assert code == UNDECIDED, err


def of_their_image(data: dict[str, Any]) -> None:
    data["images"] = {"theirs": {"dockerfile": "theirs/Dockerfile", "versions": ["/theirs", "--versions"]}}
    data["benchmarks"]["double"]["implementations"]["other"]["image"] = "theirs"


def test_a_record_says_of_an_image_of_somebody_elses_all_that_running_again_needs(forge):
    (forge.directory / "theirs").mkdir()
    (forge.directory / "theirs" / "Dockerfile").write_text("FROM scratch\n")
    forge.run(*SMOKE, change=of_their_image, other=DOUBLER)
    test_the_cell_that_comes_out_of_a_record_has_the_key_of_the_record(forge)
    records = {record.implementation: record for record in forge.store.records()}
    assert load_work(records["other"]).cell.implementation.image == ImageTarget(
        name="theirs", source=None, versions=("/theirs", "--versions")
    )
    assert load_work(records["plain"]).cell.implementation.image is CORE
    assert "versions" not in records["plain"].work.plain()


def test_a_host_is_not_taken_for_an_image_of_somebody_elses(forge):
    (forge.directory / "theirs").mkdir()
    (forge.directory / "theirs" / "Dockerfile").write_text("FROM scratch\n")
    forge.run(*SMOKE, change=of_their_image, other=DOUBLER)
    code, _, err = forge.verify()
    assert (code, "another image than what is here" in err) == (WrongImage.exit_code, True)
    assert forge.verify("--any-image")[0] == UNDECIDED


def test_an_altered_digit_is_found_wherever_it_is_and_nothing_is_run(made):
    path = sorted(made.store.records_directory.glob("*/*.json"))[0]
    whole = path.read_text()
    places = [index for index, character in enumerate(whole) if character.isdigit()]
    generator = random.Random(4)  # noqa: S311 (a test, not a secret)
    for index in generator.sample(places, 300):
        digit = generator.choice([each for each in "0123456789" if each != whole[index]])
        path.write_text(whole[:index] + digit + whole[index + 1 :])
        with pytest.raises(DamagedRecord, match=path.name):
            read_records(path)
    code, out, err = made.verify()
    assert (code, out) == (DamagedRecord.exit_code, "")
    assert str(path) in err


ALTERATIONS = {
    "a figure": lambda text: text.replace('"seconds": [', '"seconds": [1.5, ', 1),
    "a word": lambda text: text.replace('"portable"', '"none"', 1),
    "a key more": lambda text: text.replace("{", '{"note": "harmless", ', 1),
    "a key twice": lambda text: text.replace('"schema": 3', '"schema": 1, "schema": 3', 1),
    "no hash": lambda text: text.replace("content_sha256", "content"),
    "not a number": lambda text: text.replace('"wall_seconds": ', '"wall_seconds": NaN, "was": ', 1),
    "cut off": lambda text: text[:-40],
    "empty": lambda _: "",
    "another thing": lambda _: "[1, 2, 3]",
    "very deep": lambda _: "[" * 200_000,
}


@pytest.mark.parametrize("what", ALTERATIONS)
def test_any_alteration_is_found_and_named(made, what):
    path = sorted(made.store.records_directory.glob("*/*.json"))[-1]
    text = ALTERATIONS[what](path.read_text())
    assert text != path.read_text()
    path.write_text(text)
    code, _, err = made.verify()
    assert code == DamagedRecord.exit_code
    assert str(path) in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("determinism", "verdict", "code"),
    [("portable", "differs", 10), ("machine", "differs", 10), ("none", None, UNDECIDED)],
)
def test_other_bytes_differ_where_bytes_were_promised_and_pass_by_the_gate_where_not(
    forge, determinism, verdict, code
):
    def promise(data: dict) -> None:
        data["benchmarks"]["double"]["implementations"]["noisy"]["determinism"] = determinism

    forge.run(*SMOKE, change=promise, noisy=NOISY)
    found_code, figures = forge.figures()
    assert found_code == code
    assert {each for each, _ in figures.get("noisy outputs", set())} == ({verdict} if verdict else set())
    assert {each for each, _ in figures["noisy gate"]} == {"reproduced"}
    assert {each for each, _ in figures["plain outputs"]} == {"reproduced"}


def test_what_differs_is_named_in_the_message_and_in_the_table(forge):
    forge.run(*SMOKE, noisy=NOISY)
    code, out, err = forge.verify()
    assert code == 10
    assert "other bytes in y.npy" in err
    assert "What differs:" in out
    assert "Traceback" not in err


def test_on_another_cpu_model_only_portable_bytes_must_be_the_same(forge):
    forge.run(*SMOKE, noisy=NOISY)

    def elsewhere(data: dict) -> None:
        data["machine"]["cpu_model"] = "Another CPU"

    forge.rewrite(elsewhere)
    code, figures = forge.figures()
    assert code == 10
    assert {verdict for verdict, _ in figures["noisy outputs"]} == {"differs"}
    forge.rewrite(lambda data: data.update(determinism="machine"), implementation="noisy")
    code, figures = forge.figures("--trust-commands")
    assert code == OtherWork.exit_code, "the matrix promises portable bytes of it"
    ((verdict, why),) = figures["noisy outputs"]
    assert verdict == "inconclusive"
    assert "another machine" in why
    ((verdict, why),) = figures["plain seconds"]
    assert (verdict, why.partition(":")[0]) == ("inconclusive", "another machine")


def test_emulated_times_are_never_judged_and_never_divided(made):
    def emulated(data: dict) -> None:
        data["execution"] = {"kind": "emulated", "emulator": "qemu-aarch64 10.0.2"}
        data["measurement"]["metrics"]["seconds"] = [1e3]
        data["launch"].update(wall_seconds=1e4, deadline_seconds=1e5)

    made.rewrite(emulated)
    code, out, _ = made.verify("--json")
    assert code == UNDECIDED
    for cell in json.loads(out)["cells"]:
        seconds = next(each for each in cell["figures"] if each["figure"] == "seconds")
        assert seconds["verdict"] == "inconclusive"
        assert "emulated times are never judged" in seconds["why"]
        assert seconds["ratio"] is None
        outputs = next(each for each in cell["figures"] if each["figure"] == "outputs")
        assert outputs["verdict"] == "reproduced", "what it computed counts in full"


@pytest.mark.parametrize("part", ["inputs", "outputs"])
def test_hashes_that_were_made_up_and_sealed_differ(made, part):
    made.rewrite(
        lambda data: data[part].update(dict.fromkeys(data[part], "0" * 64)),
        implementation="other",
        case="n=4",
    )
    code, figures = made.figures()
    assert code == 10
    assert {verdict for verdict, _ in figures[f"other {part}"]} == {"differs", "reproduced"}


def test_counts_that_were_made_up_and_sealed_are_refused_before_anything_runs(made):
    def more(data: dict) -> None:
        data["measurement"]["counts"]["elements"] += 1

    made.rewrite(more, fit=False, implementation="other", case="n=8")
    code, out, err = made.verify()
    assert (code, out) == (ContradictoryRecord.exit_code, "")
    assert "elements is 9, must be 8" in err


def test_an_implementation_that_passes_no_more_differs(forge):
    forge.steer()
    forge.run(*SMOKE, turncoat=steered(forge.directory))
    forge.steer(factor=3.0)
    code, figures = forge.figures()
    assert code == 10
    verdicts = figures["turncoat gate"]
    assert {verdict for verdict, _ in verdicts} == {"differs"}
    assert all("wrong-output" in why for _, why in verdicts)
    assert "turncoat outputs" not in figures


def test_a_cell_that_failed_is_reproduced_by_failing_again_for_the_same_reason(forge):
    forge.steer(factor=3.0)
    forge.run(*SMOKE, wrong=steered(forge.directory))
    code, figures = forge.figures()
    assert (code, figures["wrong gate"]) == (UNDECIDED, {("reproduced", "failed again: wrong-output")})
    forge.steer(factor=2.0)
    code, figures = forge.figures()
    assert code == 10
    assert figures["wrong gate"] == {("differs", "it failed (wrong-output) and now passes")}


def test_times_are_judged_by_interval_over_five_processes(forge):
    forge.steer(seconds=1e-6)
    forge.run(
        "--seeds", "1,2,3,4,5", "--only", "double/steered", change=_one_case, steered=steered(forge.directory)
    )
    forge.steer(seconds=1.05e-6)
    code, figures = forge.figures("--only", "double/steered")
    ((verdict, why),) = figures["steered seconds"]
    assert (code, verdict) == (0, "reproduced"), why
    forge.steer(seconds=2e-6)
    code, figures = forge.figures("--only", "double/steered")
    ((verdict, why),) = figures["steered seconds"]
    assert (code, verdict) == (10, "differs"), why
    forge.steer(seconds=2e-6)
    code, figures = forge.figures("--only", "double/steered", "--seeds", "1,2")
    ((verdict, why),) = figures["steered seconds"]
    assert (code, verdict, why) == (UNDECIDED, "inconclusive", "n = 2: an interval needs 5 processes a side")


def _one_case(data: dict) -> None:
    del data["benchmarks"]["double"]["cases"]["n=8"]


def test_a_directory_is_narrowed_down_by_name_and_seed(made):
    _, out, _ = made.verify("--json", "--only", "double/other")
    assert {cell["implementation"] for cell in json.loads(out)["cells"]} == {"other"}
    for nothing in (
        ("--only", "triple"),
        ("--seeds", "77"),
        ("--arch", "arm64" if _host() == "amd64" else "amd64"),
    ):
        code, out, err = made.verify(*nothing)
        assert (code, out) == (2, "")
        assert "no record is selected" in err


def _host() -> str:
    return machine.architecture()


def test_records_of_the_first_schema_are_verified_as_far_as_they_go(forge):
    old = Store(forge.directory / "old")
    old.add(make_record(case="T=128"))
    code, out, err = forge.verify(path=old.root)
    assert code == UNDECIDED, err
    assert "1 records are as they were sealed" in err
    assert "does not say how its inputs are made" in " ".join(out.split())
    assert "0 reproduced, 0 differ, 1 inconclusive" in out


def test_a_directory_may_hold_several_publications_and_a_copy_counts_once(made):
    shutil.copytree(made.store.root, made.directory / "all" / "first")
    shutil.move(made.store.root, made.directory / "all" / "second")
    assert len(read_records(made.directory / "all")) == 4


def test_the_same_cell_in_two_records_is_run_once(made):
    made.run(*SMOKE, "--fresh", other=DOUBLER)
    code, out, _ = made.verify("--json")
    found = json.loads(out)
    assert (code, found["launches"]) == (UNDECIDED, 2)
    assert [len(cell["records"]) for cell in found["cells"]] == [2] * 4


def test_two_records_of_one_name_are_one_too_many(made):
    path = sorted(made.store.records_directory.glob("*/*.json"))[0]
    made_up = resealed(json.loads(path.read_text()), lambda data: data.update(profile="full"))
    (path.parent / "zzz.json").write_text(json.dumps(made_up))
    code, out, err = made.verify()
    assert (code, out) == (DamagedRecord.exit_code, "")
    assert "another record has its name" in err


def test_a_flat_folder_of_records_is_read_and_one_without_any_is_said(made):
    flat = made.directory / "flat"
    flat.mkdir()
    for path in made.store.records_directory.glob("*/*.json"):
        shutil.copy(path, flat)
    assert len(read_records(flat)) == 4
    for nothing in (made.directory / "nowhere", made.directory):
        if nothing == made.directory:
            shutil.rmtree(flat)
            shutil.rmtree(made.store.root)
        code, out, err = made.verify(path=nothing)
        assert (code, out) == (2, "")
        assert "no record in" in err


def test_the_new_records_are_kept_where_the_user_says_and_nowhere_else(made):
    before = sorted(path.name for path in made.directory.rglob("*"))
    made.verify()
    assert sorted(path.name for path in made.directory.rglob("*")) == before
    made.verify("--keep", str(made.directory / "kept"))
    kept = Store(made.directory / "kept").records()
    assert {(each.implementation, each.case) for each in kept} == {
        (each.implementation, each.case) for each in made.store.records()
    }
    assert {each.identifier for each in kept}.isdisjoint(each.identifier for each in made.store.records())


def test_records_of_another_checkout_verify_nothing_unless_that_is_wanted(made):
    def elsewhere(data: dict) -> None:
        data["image"]["execution_hash"] = data["work"]["core"]["execution_hash"] = "host:" + "0" * 64

    made.rewrite(elsewhere)
    code, out, err = made.verify()
    assert (code, out) == (20, "")
    assert "another image" in err
    code, figures = made.figures("--any-image")
    assert code == UNDECIDED
    assert figures["other outputs"] == {("reproduced", "the same bytes in 1 file")}
    assert figures["other seconds"] == {("inconclusive", "another image")}


def test_an_image_cannot_be_chosen_where_the_host_itself_is_used(made):
    code, _, err = made.verify("--image", "sha256:" + "0" * 64)
    assert code == 2
    assert "local executor" in err


FORGERIES = {
    "arithmetic that is none": lambda data: data["work"]["counts"].update(elements="__import__('os')"),
    "a case that is not there": lambda data: data["cell"].update(case="n=16"),
    "two reference commands": lambda data: data["work"]["reference"].update(command=["true"]),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_sealed_record_whose_work_does_not_fit_together_is_refused(made, what):
    made.rewrite(FORGERIES[what], fit=False, implementation="plain", case="n=4")
    code, out, err = made.verify()
    assert (code, out) == (ContradictoryRecord.exit_code, "")
    assert "it contradicts itself" in err
    assert "Traceback" not in err


def test_a_record_whose_work_this_version_cannot_run_is_refused(made):
    made.rewrite(
        lambda data: data["work"]["toolchain"].update(kernel="6"), implementation="plain", case="n=4"
    )
    code, out, err = made.verify()
    assert (code, out) == (8, "")
    assert "cannot be run again" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["cell"].update(case="../../etc"),
        lambda data: data["work"]["inputs"]["cases"].update({"../x": {}}),
        lambda data: data["work"]["gate"]["outputs"][0].update(file="../secret.npy"),
        lambda data: data.update(id="../../x-0123456789abcdef"),
        lambda data: data.pop("work"),
        lambda data: data["work"].update(more=1),
    ],
)
def test_a_sealed_file_that_is_no_record_by_the_schema_is_refused(made, change):
    made.rewrite(change, fit=False, implementation="other", case="n=4")
    code, out, err = made.verify()
    assert (code, out) == (DamagedRecord.exit_code, "")
    assert "not a record" in err


def _wavering(directory: Path) -> str:
    """A doubler whose second process of a seed has a time far from all its others."""
    return (
        f"log = pathlib.Path({str(directory)!r}) / f'processes-{{arguments.seed}}'\n"
        "log.open('a').write('x')\n"
        "wavers = len(log.read_text()) == 2\n"
        "factor = [1.4, 1.5, 1.3, 0.9, 0.95][arguments.seed - 1] if wavers else 1\n"
        + DOUBLER.replace("[seconds]", "[1e-6 * factor]")
    )


def test_an_interval_that_is_too_wide_is_narrowed_by_more_processes(forge):
    only = ("--only", "double/wavering")
    forge.run("--seeds", "1,2,3,4,5", *only, change=_one_case, wavering=_wavering(forge.directory))
    shutil.copytree(forge.directory, forge.directory / "kept")
    code, figures = forge.figures(*only)
    assert (code, {verdict for verdict, _ in figures["wavering seconds"]}) == (UNDECIDED, {"inconclusive"})
    for log in (forge.directory / "kept").glob("processes-*"):
        shutil.copy(log, forge.directory)
    code, out, err = forge.verify("--json", *only, "--narrow", "5")
    assert code == 0, err
    assert "run again, because an interval is too wide" in err
    (cell,) = json.loads(out)["cells"]
    verdicts = {each["figure"]: each for each in cell["figures"]}
    assert verdicts["seconds"]["verdict"] == "reproduced"
    gates = [each for each in cell["figures"] if each["figure"] == "gate"]
    assert len(gates) > 5, "a repeat owes the same gate as the first process"


def test_a_budget_that_holds_no_round_starts_none(forge):
    only = ("--only", "double/wavering")
    forge.run("--seeds", "1,2,3,4,5", *only, change=_one_case, wavering=_wavering(forge.directory))
    code, _, err = forge.verify(*only, "--narrow", "1e-9")
    assert code == UNDECIDED
    assert "the budget of repeats is used up" in err


def test_a_repeat_that_fails_its_gate_differs():
    old, new, worse = (make_record(seed=1) for _ in range(3))

    def fails(data: dict[str, Any]) -> None:
        data["outputs"] = dict.fromkeys(data["outputs"], "0" * 64)

    pair = Pair(old=old, new=new, why_not=None, likeness=Likeness.SAME, repeats=(varied(worse, fails),))
    (judged,) = judge([pair])
    assert Verdict.DIFFERS in {found.verdict for found in judged.findings if found.figure == "outputs"}


@pytest.mark.parametrize("text", ["", "-1", "nan", "inf", "two"])
def test_a_budget_is_a_number_of_minutes(made, text):
    code, _, err = made.verify("--narrow", text)
    assert code == UsageError.exit_code
    assert "--narrow" in err
