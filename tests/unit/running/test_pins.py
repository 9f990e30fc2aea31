"""Which versions an image is asked for: each target says how, and which of them a toolchain pins."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner.executors.base import AppliedLimits, LaunchRequest, LaunchResult
from runner.matrix.images import CORE, OURS, ImageTarget
from runner.planning.cells import Cell, Selection, select
from runner.records.execution import Execution, ExecutionKind
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

    def __init__(self, printed: str, exit_code: int = 0) -> None:
        self._printed, self._exit_code = printed, exit_code
        self.commands: list[tuple[str, ...]] = []

    def launch(self, request: LaunchRequest) -> LaunchResult:
        self.commands.append(request.command)
        request.on_line(self._printed, 0.0)
        limits = AppliedLimits.of(request.limits, cpus=CpuSet(cpus=(0,), siblings=None), enforced=())
        return LaunchResult(limits=limits, exit_code=self._exit_code)


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


def test_on_a_bare_host_the_host_is_asked_whatever_the_image_that_is_asked_for(cell, tmp_path):
    inside = Inside(json.dumps({"python": "3.0.0"}))
    for target in (CORE, OURS["edge"], THEIRS):
        assert software(inside, target, image("host", None), cell, tmp_path) == {"python": "3.0.0"}
    assert set(inside.commands) == {("python3", "-m", "baselines.versions")}
