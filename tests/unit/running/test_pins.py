"""Which versions an image is asked for: each target says how, and which of them a toolchain pins."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner.executors.base import AppliedLimits, LaunchRequest, LaunchResult
from runner.matrix.images import CORE, OURS, ImageTarget
from runner.planning.cells import Cell, Selection, select
from runner.records.execution import Execution, ExecutionKind
from runner.records.failure import Failure, FailureKind
from runner.records.image import ImageFacts
from runner.records.store import Store
from runner.running.pins import verified_software
from runner.system.cpus import CpuSet
from runner.system.errors import PinMismatch
from tests.fuzz import corpus

MATRIX = corpus.shipped()
PINNED = {"rust": "1.96.0", "python": "3.13.5", "pytorch": "2.6.0+debian"}
THEIRS = ImageTarget(name="theirs", source=None, versions=("/theirs", "--versions"))


class Inside:
    """An executor that starts one thing: what prints these versions."""

    def __init__(self, printed: str, exit_code: int | None = 0, **ending: Any) -> None:
        self._printed, self._exit_code, self._ending = printed, exit_code, ending
        self.commands: list[tuple[str, ...]] = []

    def launch(self, request: LaunchRequest) -> LaunchResult:
        self.commands.append(request.command)
        request.on_line(self._printed, 0.0)
        limits = AppliedLimits.of(request.limits, cpus=CpuSet(cpus=(0,), siblings=None), enforced=())
        return LaunchResult(limits=limits, exit_code=self._exit_code, **self._ending)


@pytest.fixture
def cell() -> Cell:
    executions = {name: Execution(kind=ExecutionKind.NATIVE, emulator=None) for name in MATRIX.platforms}
    return next(select(MATRIX, Selection(profile="smoke"), executions))


def image(target: str, identity: str | None = "0" * 64) -> ImageFacts:
    return ImageFacts(
        target=target,
        architecture="amd64",
        identity=identity,
        execution_hash="0" * 64,
        config_digest=None if identity is None else "sha256:" + "0" * 64,
        manifest_digest=None,
    )


def software(inside: Any, target: ImageTarget, facts: ImageFacts, cell: Cell, tmp_path: Path) -> Any:
    return verified_software(target, cell, image=facts, executor=inside, store=Store(tmp_path))


@pytest.mark.parametrize(
    ("target", "command", "printed"),
    [
        (CORE, ("python3", "-m", "baselines.versions"), PINNED),
        (OURS["peers"], ("python3", "-m", "baselines.versions"), PINNED),
        (OURS["edge"], ("torchforge", "version"), {"torchforge": "0.1.0", "rustc": "1.96.0"}),
        (THEIRS, ("/theirs", "--versions"), {"theirs": "9", "compiler": None}),
    ],
)
def test_a_target_is_asked_its_own_way_and_once_an_image(cell, tmp_path, target, command, printed):
    inside = Inside(json.dumps(printed))
    for _ in range(2):
        assert software(inside, target, image(target.name), cell, tmp_path) == printed
    assert inside.commands == [command]


@pytest.mark.parametrize(
    ("target", "printed", "wrong"),
    [
        (CORE, {**PINNED, "python": "3.13.6"}, "python is 3.13.6, pinned 3.13.5"),
        (OURS["edge"], {"rustc": "1.95.0"}, "rustc is 1.95.0, pinned 1.96.0"),
        (OURS["edge"], {"rust": "1.96.0"}, "rustc is absent, pinned 1.96.0"),
    ],
)
def test_what_a_toolchain_pins_must_be_inside_ours(cell, tmp_path, target, printed, wrong):
    with pytest.raises(PinMismatch) as caught:
        software(Inside(json.dumps(printed)), target, image(target.name), cell, tmp_path)
    assert caught.value.why == wrong


def test_versions_that_nothing_can_say_are_unknown_and_nothing_is_started(cell, tmp_path):
    silent, inside = ImageTarget(name="theirs", source=None), Inside("")
    assert software(inside, silent, image("theirs"), cell, tmp_path) == {"theirs": None}
    assert inside.commands == []


def test_an_image_that_cannot_say_what_it_should_stops_the_run_with_the_command(cell, tmp_path):
    for inside in (Inside("", exit_code=1), Inside("not JSON"), Inside('{"theirs": 9}')):
        with pytest.raises(PinMismatch) as caught:
            software(inside, THEIRS, image("theirs"), cell, tmp_path)
        assert "/theirs --versions" in caught.value.fix


@pytest.mark.parametrize(
    ("inside", "why"),
    [
        (
            Inside(
                "", exit_code=127, stderr="\n".join(["noise"] * 9 + ["Traceback", "no \x1b[31mnumpy", "\n"])
            ),
            "the command that asks for them failed in a container of it: exit code 127; "
            "the end of its stderr: noise / noise / noise / Traceback / no [31mnumpy",
        ),
        (
            Inside("", exit_code=1),
            "the command that asks for them failed in a container of it: exit code 1; the end of its stderr: nothing",
        ),
        (
            Inside("", exit_code=-11, stderr="about to fall"),
            "the command that asks for them failed in a container of it: ended by SIGSEGV; "
            "the end of its stderr: about to fall",
        ),
        (
            Inside("", exit_code=None, not_started="exec /theirs: no such file or directory"),
            "a container of it did not start: exec /theirs: no such file or directory",
        ),
        (
            Inside("", exit_code=-9, stopped=Failure(kind=FailureKind.DEADLINE, detail="600 s passed")),
            "the command that asks for them failed in a container of it: 600 s passed; "
            "the end of its stderr: nothing",
        ),
        (
            Inside("theirs 9"),
            "the command that asks for them printed no JSON object of versions; it printed: theirs 9",
        ),
    ],
)
def test_an_image_that_says_no_versions_says_how_the_command_ended(cell, tmp_path, inside, why):
    with pytest.raises(PinMismatch) as caught:
        software(inside, THEIRS, image("theirs"), cell, tmp_path)
    assert caught.value.why == why


def test_the_end_of_a_long_stderr_stays_short_in_the_message(cell, tmp_path):
    with pytest.raises(PinMismatch) as caught:
        software(Inside("", exit_code=1, stderr="x" * 10**6), THEIRS, image("theirs"), cell, tmp_path)
    assert len(caught.value.why) < 700


def test_on_a_bare_host_no_version_is_known_where_the_command_fails(cell, tmp_path):
    assert software(Inside("", exit_code=1), CORE, image("host", None), cell, tmp_path) == {}


def test_on_a_bare_host_the_host_the_host_is_asked_whatever_the_image_that_is_asked_for(cell, tmp_path):
    inside = Inside(json.dumps({"python": "3.0.0"}))
    for target in (CORE, OURS["edge"], THEIRS):
        assert software(inside, target, image("host", None), cell, tmp_path) == {"python": "3.0.0"}
    assert set(inside.commands) == {("python3", "-m", "baselines.versions")}
