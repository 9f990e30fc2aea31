"""Where a profile leaves the reference out under emulation, the native reference's outputs judge emulated cells."""

from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from runner.cli.main import main
from runner.executors.local import LocalExecutor
from runner.records.audit import audit
from runner.records.execution import Execution, ExecutionKind
from runner.records.key import key_of
from runner.records.ledger.file import read_ledger
from runner.records.ledger.lines import EndLine, ImagesLine, PlanLine
from runner.records.record import Record
from runner.records.store import Store
from runner.system import machine
from runner.system.errors import ImageBuildFailed
from tests.redteam import test_implementations as redteam

HERE = machine.architecture()
OTHER = {"amd64": "arm64", "arm64": "amd64"}[HERE]
SMALL = {"warmup": 0, "repetitions": 3}
BOTH = ("--arch", HERE, "--arch", OTHER)
SIZES = {"warmup": 1, "repetitions": 20, "seconds_limit": 0.2, "least_repetitions": 5}


class Bench:
    """A native and an emulated platform, and a profile that leaves the reference out under emulation."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.data = directory, redteam.matrix()
        self.data["platforms"] = {"emulated": {"architecture": OTHER}, "native": {"architecture": HERE}}
        self.sine = self.data["benchmarks"]["sine"]
        self.sine["implementations"] = {
            name: {
                "command": redteam.command("program"),
                "reference": name == "reference",
                "determinism": "machine",
            }
            for name in ("reference", "ours")
        }
        sizes = {"native": SIZES, "emulated": SMALL, "emulated_without": ["reference"]}
        self.sine["profiles"] = {"quick": sizes}

    def size_equally(self) -> None:
        """Give emulated cells the native sizes."""
        self.sine["profiles"]["quick"]["emulated"] = SIZES

    def run(self, *words: str) -> list[Record]:
        """Run; the records that were made, by implementation and platform."""
        matrix, results = self.directory / "matrix.yaml", self.directory / "results"
        matrix.write_text(yaml.safe_dump(self.data, sort_keys=False))
        before = len(Store(results).records())
        # The local executor runs the host's architecture unless another is asked for.
        main([*(words or BOTH), "--matrix", str(matrix), "--results", str(results), "--executor", "local"])
        return Store(results).records()[before:]


@pytest.fixture
def bench(tmp_path, monkeypatch) -> Bench:
    def execution(_executor, platform):
        if platform.name == "native":
            return Execution(kind=ExecutionKind.NATIVE, emulator=None)
        return Execution(kind=ExecutionKind.EMULATED, emulator="qemu")

    # Both are run as what this machine is: only the executor's word makes one of them emulated.
    monkeypatch.setattr(LocalExecutor, "execution", execution)
    monkeypatch.setattr(LocalExecutor, "left_out", lambda *_: None)
    return Bench(tmp_path)


def _places(records: list[Record]) -> set[tuple[str, str]]:
    return {(each.implementation, each.platform) for each in records}


def test_the_reference_does_not_run_under_emulation_and_judges_it(bench):
    records = bench.run()
    assert _places(records) == {("reference", "native"), ("ours", "native"), ("ours", "emulated")}
    assert not any(each.failed for each in records)
    # One of the reference's own room, and one with the emulated sizes, which forms no ratio.
    sizes = [each.parameters["repetitions"] for each in records if each.implementation == "reference"]
    assert sorted(sizes) == [SMALL["repetitions"], SIZES["repetitions"]]
    emulated = next(each for each in records if each.platform == "emulated")
    native = next(each for each in records if each.implementation == "reference")
    assert emulated.work.reference.platform == "native"
    assert emulated.referee.nonce == native.referee.nonce
    assert emulated.inputs == native.inputs
    assert not native.work.reference.platform
    assert bench.run() == []


def test_at_equal_sizes_the_native_reference_runs_once_for_both_platforms(bench):
    bench.size_equally()
    records = bench.run()
    assert sorted((each.implementation, each.platform) for each in records) == [
        ("ours", "emulated"),
        ("ours", "native"),
        ("reference", "native"),
    ]
    assert not any(each.failed for each in records)
    native, emulated = (
        next(each for each in records if (each.implementation, each.platform) == place)
        for place in (("reference", "native"), ("ours", "emulated"))
    )
    assert emulated.work.reference.platform == "native"
    assert emulated.referee.nonce == native.referee.nonce
    assert bench.run() == []


def test_at_equal_sizes_an_emulated_run_after_a_native_one_reuses_its_reference(bench):
    bench.size_equally()
    bench.run("--arch", HERE)
    records = bench.run("--arch", OTHER)
    assert _places(records) == {("ours", "emulated")}
    assert not records[0].failed


def test_at_equal_sizes_an_emulated_run_alone_leaves_a_whole_native_room_to_run(bench):
    bench.size_equally()
    assert _places(bench.run("--arch", OTHER)) == {("reference", "native"), ("ours", "emulated")}
    # A ratio is of one run, so the reference is measured again beside the others.
    assert _places(bench.run("--arch", HERE)) == {("reference", "native"), ("ours", "native")}


def test_its_page_says_what_judged_the_emulated_cells(bench):
    bench.run()
    page = (bench.directory / "results" / "tables" / "quick" / "sine.md").read_text()
    assert "its native outputs judge the emulated ones" in page


def test_wrong_outputs_under_emulation_fail(bench):
    bench.sine["implementations"]["wrong"] = {
        "command": redteam.command("first_answer"),
        "determinism": "machine",
    }
    failed = {(each.implementation, each.platform) for each in bench.run() if each.failed}
    assert ("wrong", "emulated") in failed
    assert ("ours", "emulated") not in failed


def test_an_emulated_run_alone_brings_the_native_reference(bench):
    records = bench.run("--arch", OTHER)
    assert _places(records) == {("reference", "native"), ("ours", "emulated")}


def test_a_matrix_without_a_native_platform_runs_the_reference_emulated(bench):
    del bench.data["platforms"]["native"]
    records = bench.run()
    assert _places(records) == {("reference", "emulated"), ("ours", "emulated")}
    assert not any(each.work.reference.platform or each.failed for each in records)


def test_other_input_files_cannot_be_compared(bench):
    """A generator whose files are not portable would judge one platform's work by another's."""
    generator = bench.sine["inputs"][2].replace(
        "write_bytes(b'')", "write_bytes(__import__('os').urandom(8))"
    )
    bench.sine["inputs"][2] = generator
    records = [each for each in bench.run() if each.platform == "emulated"]
    assert [each.failure.kind for each in records] == ["no-reference"]
    assert "had other input files" in records[0].failure.detail


def test_a_record_cannot_claim_another_judge_than_its_own(bench):
    records = bench.run()
    emulated = next(each for each in records if each.platform == "emulated")

    def judged_by(record: Record, platform: str) -> Record:
        reference = replace(record.work.reference, platform=platform)
        return replace(record, work=replace(record.work, reference=reference))

    assert key_of(emulated, emulated.work) == emulated.key
    for altered in (
        judged_by(emulated, "elsewhere"),
        judged_by(emulated, "emulated"),
        judged_by(records[0], "emulated"),
    ):
        assert audit(altered)


@pytest.fixture
def unbuilt(monkeypatch) -> None:
    """The image of the emulated platform is not there."""
    monkeypatch.setattr(
        LocalExecutor,
        "must_build",
        lambda _executor, _target, _toolchain, platform: platform.name == "emulated",
    )


def test_an_image_of_emulated_cells_is_built_after_the_native_page_is_written(bench, unbuilt, monkeypatch):
    page = bench.directory / "results" / "tables" / "quick" / "sine.md"
    prepare, seen = LocalExecutor.prepare, []

    def watched(executor, target, toolchain, platform, say):
        seen.append((platform.name, page.exists()))
        return prepare(executor, target, toolchain, platform, say)

    monkeypatch.setattr(LocalExecutor, "prepare", watched)
    assert _places(bench.run()) == {("reference", "native"), ("ours", "native"), ("ours", "emulated")}
    assert sorted(set(seen)) == [("emulated", True), ("native", False)]


def test_one_plan_names_the_images_that_it_begins_with_and_those_that_follow(bench, unbuilt):
    bench.run()
    lines = read_ledger(Store(bench.directory / "results").ledger_path).lines
    plan, *_, end = lines
    images = [line.images for line in lines if isinstance(line, ImagesLine)]
    assert isinstance(plan, PlanLine)
    assert isinstance(end, EndLine)
    assert [type(line) for line in lines].index(ImagesLine) == 4
    assert [each.architecture for each in plan.images] == [HERE]
    assert [[each.architecture for each in line] for line in images] == [[OTHER]]
    assert {line.plan for line in lines} == {plan.plan}


def test_an_image_that_cannot_be_built_leaves_the_native_records(bench, unbuilt, monkeypatch):
    prepare = LocalExecutor.prepare

    def failing(executor, target, toolchain, platform, say):
        if platform.name == "emulated":
            raise ImageBuildFailed(what="no image", why="a package is gone", fix="renew the lock")
        return prepare(executor, target, toolchain, platform, say)

    monkeypatch.setattr(LocalExecutor, "prepare", failing)
    records = bench.run()
    assert _places(records) == {("reference", "native"), ("ours", "native")}
    end = read_ledger(Store(bench.directory / "results").ledger_path).lines[-1]
    assert (end.outcome, end.why) == ("stopped", "ImageBuildFailed: no image")
