"""The data that the steps of a launch hand on: a launch that can start, and a launch that has ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from runner.executors.base import LaunchResult
from runner.planning.planned import Launch
from runner.records.image import ImageFacts
from runner.referee.dialogue import Dialogue
from runner.referee.protocol import Reader
from runner.running.examining import Examiner


@dataclass(frozen=True, kw_only=True)
class PreparedLaunch:
    """A launch that can start.

    Attributes:
        launch: as planned.
        name: a name that no other process ever had.
        cases: each case's parameters, in the order in which the process is handed them.
        image: the image that it runs in.
        software: the versions that the image holds.
        core: the image that made the inputs and ran the reference.
        inputs: the directory with the input files of all cases of the benchmark.
        listener: hears what the process prints; a referee also answers.
        examiner: has a training played again afterwards; None where nothing is.
    """

    launch: Launch
    name: str
    cases: Mapping[str, dict[str, Any]]
    image: ImageFacts
    software: Mapping[str, str | None]
    core: ImageFacts
    inputs: Path
    listener: Reader | Dialogue
    examiner: Examiner | None


@dataclass(frozen=True, kw_only=True)
class EndedLaunch:
    """A launch whose process has ended.

    Attributes:
        prepared: what was started.
        started_at: when.
        began: the same moment by the monotonic clock, which nobody sets.
        state: the machine's state just before.
        state_after: and just after.
        result: how it ended.
        outputs: the directory with its files, one folder for each case.
        input_hashes: SHA-256 of each input file, by its path below ``prepared.inputs``.
        output_hashes: likewise below ``outputs``.
    """

    prepared: PreparedLaunch
    started_at: datetime
    began: float
    state: Mapping[str, Any]
    state_after: Mapping[str, Any]
    result: LaunchResult
    outputs: Path
    input_hashes: Mapping[str, str]
    output_hashes: Mapping[str, str]

    def inputs_of(self, case: str) -> dict[str, str]:
        """The hashes of one case's input files, by their names."""
        return _below(self.input_hashes, case)

    def outputs_of(self, case: str) -> dict[str, str]:
        """The hashes of one case's output files, by their names."""
        return _below(self.output_hashes, case)


def _below(hashes: Mapping[str, str], case: str) -> dict[str, str]:
    return {
        name.removeprefix(f"{case}/"): value for name, value in hashes.items() if name.startswith(f"{case}/")
    }
