"""Gymnasium's own tests, with the environments of the package `torchforge` under Gymnasium's names: a plugin of pytest.

The tests are those of Gymnasium's repository, unchanged; its wheel does not hold them. `make gymnasium CHECKOUT=DIR` runs
them there. What asks the registry for CartPole-v1 and the other names gets ours. What the tests of vectors would put into
a `SyncVectorEnv` is our `VectorEnv`. `NOT_OURS` names the tests that are left out, and why.
"""

import importlib
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import torchforge.envs
from gymnasium.vector import AutoresetMode, SyncVectorEnv

TASKS = ("Acrobot-v1", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1")

# The end of a test's name without its parameters, a part of them or nothing, and why it does not apply.
NOT_OURS: list[tuple[str, str, str]] = []


def together(
    env_fns: Sequence[Callable[[], gymnasium.Env[Any, Any]]],
    *,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    **options: Any,
) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Our vector where all environments are ours and of one task; otherwise Gymnasium's of these environments."""
    made = [make().unwrapped for make in env_fns]
    tasks = {each._task if isinstance(each, torchforge.envs.Env) else None for each in made}
    if len(tasks) == 1 and (task := tasks.pop()) is not None:
        return torchforge.envs.VectorEnv(task, len(made), autoreset_mode=autoreset_mode)
    return SyncVectorEnv(env_fns, autoreset_mode=autoreset_mode, **options)


def pytest_configure() -> None:
    """Give Gymnasium's names to our environments, and only those to the tests of every environment."""
    for task in TASKS:
        ours = gymnasium.spec(f"torchforge/{task}")
        del gymnasium.registry[task]
        gymnasium.register(
            task,
            entry_point=ours.entry_point,
            vector_entry_point=ours.vector_entry_point,
            max_episode_steps=ours.max_episode_steps,
            reward_threshold=ours.reward_threshold,
            kwargs=ours.kwargs,
        )
    every = importlib.import_module("tests.envs.utils")
    specs = [gymnasium.spec(task) for task in TASKS]
    every.all_testing_env_specs[:] = specs
    every.all_testing_initialised_envs[:] = [spec.make(disable_env_checker=True).unwrapped for spec in specs]


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makemodule(module_path: Path) -> Generator[None, pytest.Module, pytest.Module]:
    """The tests of vectors are imported while our vector has the name of Gymnasium's."""
    module = yield
    if module_path.parent.name == "vector" and module_path.parents[1].name == "tests":
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gymnasium.vector, "SyncVectorEnv", together)
            importlib.import_module(module.obj.__name__)
    return module


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what does not apply, and count it."""
    left_out = [
        item
        for item in items
        if any(item.nodeid.split("[")[0].endswith(name) and part in item.name for name, part, _ in NOT_OURS)
    ]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
