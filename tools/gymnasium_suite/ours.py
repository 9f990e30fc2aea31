"""A plugin of pytest that puts our environments behind Gymnasium's names and notes which tests use one."""

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import pytest
import torchforge.envs
from gymnasium.envs.registration import registry

PREFIX = "torchforge/"


@dataclass(frozen=True)
class Result:
    """How one test of the suite ended."""

    test: str
    failed: bool
    error: str
    """What pytest prints of a failure; empty where there is none."""
    ours: bool
    """Whether one of our environments was made or reset in it."""


class OurEnvironments:
    """While it is a plugin, `CartPole-v1` is `torchforge/CartPole-v1`, and so on."""

    def __init__(self) -> None:
        self.results: list[Result] = []
        self._used = False

    def pytest_configure(self) -> None:
        """Before the tests are imported: some ask for environments while they are."""
        ours = {name.removeprefix(PREFIX): spec for name, spec in registry.items() if name.startswith(PREFIX)}
        registry.update(ours)
        for kind in (torchforge.envs.Env, torchforge.envs.VectorEnv):
            for method in ("__init__", "reset"):
                setattr(kind, method, self._noting(getattr(kind, method)))
        # The suite lists what it finds under gymnasium.envs.
        listed = importlib.import_module("tests.envs.utils")
        made = [gymnasium.make(spec, disable_env_checker=True).unwrapped for spec in ours.values()]
        listed.all_testing_initialised_envs[:] = made
        listed.all_testing_env_specs[:] = listed.gym_testing_env_specs[:] = [env.spec for env in made]
        listed.mujoco_testing_env_specs[:] = []

    def _noting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def noted(*positional: Any, **named: Any) -> Any:
            self._used = True
            return method(*positional, **named)

        return noted

    def pytest_runtest_logstart(self) -> None:
        """A test begins."""
        self._used = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep how it ended: its call, or what went wrong before or after; a test that was skipped says nothing."""
        if report.failed or (report.when == "call" and report.passed):
            said = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
            self.results.append(Result(report.nodeid, report.failed, "\n".join(said), self._used))
