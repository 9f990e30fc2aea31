"""The module's environments as `ffi` steps them, beside Gymnasium's. Needs the module: runs inside the image."""

import numpy as np
import pytest

from baselines.benchmarks import env_step
from baselines.inputs.env_step import env_step_actions
from baselines.ours import env_step_torchforge
from baselines.references import env_step as env_step_reference


@pytest.mark.parametrize(("environments", "vector"), [(1, False), (1, True), (8, True)])
def test_every_step_is_gymnasiums(environments: int, vector: bool) -> None:
    sizes = env_step.Case(environments=environments, vector=vector, calls=300, warmup=0, repetitions=1)
    whole = env_step_actions(calls=300, environments=environments, seed=3).astype(np.int64)
    actions = list(whole) if vector else whole[:, 0].tolist()
    parameters = env_step.Parameters(environments, vector)
    start = env_step.Start(seed=7, actions=actions)
    ours = env_step.recorded(env_step_torchforge.make(parameters), start, sizes)
    theirs = env_step.recorded(env_step_reference.make(parameters), start, sizes)
    assert theirs["terminated"].any()
    for name, wanted in theirs.items():
        assert ours[name].tobytes() == wanted.tobytes(), name
