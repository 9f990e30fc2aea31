"""The gate finds every constant that is not the reference's: each is changed alone, and the mutant must fail.

Needs torch: runs inside the image, all mutants in this one process, at the smallest cases that show them.
"""

import importlib.util
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from mutations import DQN, MUTATIONS, PPO, SAC, Mutation
from safetensors.numpy import save
from safetensors.torch import load_file

from baselines import benchmarks, references
from baselines.benchmarks import training
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.contract import protocol
from baselines.inputs.parity import dqn_arrays, ppo_arrays, sac_arrays
from runner.gate import Judgement, judge
from runner.matrix import Matrix, load_matrix
from runner.records.failure import FailureKind

FOLDER = Path(references.__file__).parent
# Constants stand with what all implementations of a benchmark share.
DEFINITIONS = Path(benchmarks.__file__).parent
SMALL: Mapping[str, Mapping[str, Any]] = {
    DQN: {"environment": "CartPole-v1", "learning_starts": 400, "train_frequency": 10, "steps": 1010}
    | {"parity_updates": 100},
    PPO: {"environment": "CartPole-v1", "environments": 4, "rollout_steps": 128, "minibatches": 4}
    | {"epochs": 4, "iterations": 2, "parity_updates": 100},
    # The first episode is cut off at step 199.
    SAC: {"environment": "Pendulum-v1", "learning_starts": 200, "batch": 256, "steps": 207}
    | {"parity_updates": 2},
}


class Launches:
    """Runs baselines, mutated or not, and judges what they leave behind."""

    def __init__(self, directory: Path, matrix: Matrix) -> None:
        self._directory = directory
        self._matrix = matrix
        self._number = 0
        # A reference's outputs do not depend on who is compared with them.
        self.reference: Callable[[str, str], tuple[Path, Mapping[str, Any]]] = lru_cache(self._reference)

    def judge(
        self,
        mutation: Mutation,
        outputs: Path,
        event: Mapping[str, Any],
        reference: Path | None,
    ) -> Judgement:
        """What the gate says, as the runner would have it."""
        return judge(
            self._matrix.benchmarks[mutation.baseline],
            parameters={**SMALL[mutation.baseline], **mutation.parameters},
            measurement=event,
            wall_seconds=600.0,
            outputs=outputs,
            reference=reference,
        )

    def run(self, mutation: Mutation) -> tuple[Path, Mapping[str, Any]]:
        """The outputs and the measurement of a mutant."""
        sources = _sources(mutation.baseline)
        assert any(mutation.old in each for each in sources), (
            "the baseline no longer says that: write the mutation anew"
        )
        if mutation.old:
            sources = [each.replace(mutation.old, mutation.new) for each in sources]
        return self._run(
            mutation.baseline,
            sources,
            {**SMALL[mutation.baseline], **mutation.parameters, **mutation.lies},
        )

    def _reference(self, baseline: str, parameters: str) -> tuple[Path, Mapping[str, Any]]:
        return self._run(baseline, _sources(baseline), SMALL[baseline] | json.loads(parameters))

    def _run(
        self, baseline: str, sources: Sequence[str], values: Mapping[str, Any]
    ) -> tuple[Path, Mapping[str, Any]]:
        self._number += 1
        folder = self._directory / str(self._number)
        folder.mkdir()
        definition, source = sources
        _module(folder / "definition.py", "baselines.benchmarks.mutant", definition)
        module = _module(
            folder / f"{baseline}.py",
            "baselines.references.mutant",
            source.replace(
                f"from baselines.benchmarks.{baseline} import", "from baselines.benchmarks.mutant import"
            ),
        )
        case = protocol.Case(name=str(values["environment"]), parameters=values)
        parity = folder / "parity.safetensors"
        parity.write_bytes(save(_inputs(baseline, case.name)))
        run = training._Run(
            training.Variant(train=module.train, parity=module.parity, library=PYTORCH),
            protocol.checked(case, module.Parameters),
            1,
            lambda: load_file(parity),
            time.perf_counter(),
        )
        return folder, training._measured(run, case, folder)


def _sources(baseline: str) -> list[str]:
    """The text of its definition, and that of its training."""
    return [(folder / f"{baseline}.py").read_text(encoding="utf-8") for folder in (DEFINITIONS, FOLDER)]


def _module(path: Path, name: str, source: str) -> ModuleType:
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@lru_cache
def _inputs(baseline: str, environment: str) -> dict[str, Any]:
    if baseline == DQN:
        return dqn_arrays(environment, 42)
    return ppo_arrays(42) if baseline == PPO else sac_arrays(42)


@pytest.fixture(scope="module")
def launches(tmp_path_factory: pytest.TempPathFactory) -> Launches:
    torch.set_num_threads(1)
    return Launches(tmp_path_factory.mktemp("mutants"), load_matrix(FOLDER.parents[1] / "matrix.yaml"))


@pytest.mark.parametrize("baseline", SMALL)
def test_what_is_not_changed_passes(launches: Launches, baseline: str) -> None:
    unchanged = Mutation(baseline, "nothing", "", "", "")
    reference, event = launches.reference(baseline, "{}")
    assert launches.judge(unchanged, reference, event, None).failure is None
    outputs, event = launches.run(unchanged)
    assert launches.judge(unchanged, outputs, event, reference).failure is None


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_a_constant_that_is_changed_alone_is_found_and_named(launches: Launches, mutation: Mutation) -> None:
    assert mutation.old != mutation.new or mutation.lies
    reference, event = launches.reference(mutation.baseline, json.dumps(dict(mutation.parameters)))
    unchanged = replace(mutation, old="", new="", lies={})
    assert launches.judge(unchanged, reference, event, None).failure is None
    if mutation.constant.startswith("width"):
        # The given weights do not fit: the launch fails before there is anything to compare.
        with pytest.raises(RuntimeError, match=f"size mismatch for .*{mutation.says}"):
            launches.run(mutation)
        return
    outputs, event = launches.run(mutation)
    failure = launches.judge(mutation, outputs, event, reference).failure
    assert failure is not None, "nothing differs by more than the gate allows"
    assert failure.kind in {FailureKind.WRONG_COUNTS, FailureKind.WRONG_OUTPUT}
    assert mutation.says in failure.detail
