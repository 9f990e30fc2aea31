"""The environments as Gymnasium's own classes; importing this module registers them with Gymnasium.

    import gymnasium
    import torchforge.envs

    environment = gymnasium.make("torchforge/CartPole-v1")
    environments = gymnasium.make_vec("torchforge/CartPole-v1", num_envs=8)

`gymnasium.make("torchforge.envs:torchforge/CartPole-v1")` imports the module by itself. Episodes are those of Gymnasium's
environment of the same name, to the bit, for the same seeds and actions.
"""

import copy
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from torchforge import _torchforge

try:
    import gymnasium
    from gymnasium.spaces import Box, Discrete
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise ImportError(
        f"torchforge.envs needs Gymnasium 1.1 or newer ({error}); install it with: pip install 'gymnasium>=1.1'"
    ) from error

__all__ = ["Env", "Rollout", "VectorEnv"]

Observations: TypeAlias = NDArray[np.float32]
Actions: TypeAlias = NDArray[np.int64] | NDArray[np.float32]
Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class _Task:
    """What Gymnasium registers a task with."""

    observations: Box
    actions: Discrete[np.int64] | Box
    max_episode_steps: int
    reward_threshold: float | None


def _box(high: Sequence[float], low: Sequence[float] | None = None) -> Box:
    above = np.array(high, dtype=np.float32)
    below = -above if low is None else np.array(low, dtype=np.float32)
    return Box(below, above, dtype=np.float32)


_CAR = _box([0.6, 0.07], [-1.2, -0.07])
_TASKS = {
    "Acrobot-v1": _Task(_box([1, 1, 1, 1, 4 * math.pi, 9 * math.pi]), Discrete(3), 500, -100.0),
    "CartPole-v1": _Task(
        _box([2 * 2.4, math.inf, 2 * 12 * 2 * math.pi / 360, math.inf]), Discrete(2), 500, 475.0
    ),
    "MountainCar-v0": _Task(_CAR, Discrete(3), 200, -110.0),
    "MountainCarContinuous-v0": _Task(_CAR, _box([1]), 999, 90.0),
    "Pendulum-v1": _Task(_box([1, 1, 8]), _box([2]), 200, None),
}


def _task(name: str) -> _Task:
    if name not in _TASKS:
        raise ValueError(f"task is {name!r} and must be one of {', '.join(_TASKS)}")
    return _TASKS[name]


def _refuse(options: dict[str, Any] | None, known: frozenset[str] = frozenset()) -> None:
    for option in options or {}:
        if option not in known:
            raise ValueError(f"options holds {option!r}, which these environments do not have; leave it out")


def _refuse_rendering(render_mode: str | None) -> None:
    if render_mode is not None:
        # Stable-Baselines3 asks for pictures first, and goes on without them after a TypeError alone.
        raise TypeError(f"render_mode is {render_mode!r} and must be None: these environments draw nothing")


def _mode(autoreset_mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(autoreset_mode)
    except ValueError:
        names = " or ".join(each.value for each in AutoresetMode)
        raise ValueError(f"autoreset_mode is {autoreset_mode!r} and must be {names}") from None


class Env(gymnasium.Env[Observations, Any]):
    """One environment; `gymnasium.make` wraps it with the limit of steps that Gymnasium gives the task.

    Args:
        task: the name of Gymnasium's environment, such as `CartPole-v1`.
        render_mode: None; nothing is drawn.

    Raises:
        TypeError: `render_mode` is not None.
        ValueError: there is no such task.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's class attribute

    def __init__(self, task: str, *, render_mode: str | None = None) -> None:
        known = _task(task)
        _refuse_rendering(render_mode)
        # Each environment's own: a space holds a generator.
        self.observation_space = copy.deepcopy(known.observations)
        self.action_space = copy.deepcopy(known.actions)
        self._task = task
        self._environment = _torchforge.make(task, max_episode_steps=-1)
        self._seeded = False

    def __getstate__(self) -> dict[str, Any]:
        """What `pickle` and `copy.deepcopy` keep: the episode under way and the generator too."""
        return {**self.__dict__, "_environment": self._environment.snapshot()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Go on where the pickled environment was."""
        self.__dict__.update(state)
        self._environment = _torchforge.make(self._task, max_episode_steps=-1)
        self._environment.restore(state["_environment"])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode; returns its first observation, (values,), and an empty dictionary.

        A seed below 2**64 starts the environment's generator anew; without one it goes on where it is, and the first
        reset draws a seed. `np_random` is Gymnasium's generator of that seed; episodes do not draw from it.

        Raises:
            TypeError, ValueError: `seed` is not a whole number from 0 to 2**64 - 1, or `options` holds something.
        """
        _refuse(options)
        drawn = int(self.np_random.integers(2**63)) if seed is None and not self._seeded else seed
        observation, info = self._environment.reset(seed=drawn)
        self._seeded = True
        super().reset(seed=None if seed is None else operator.index(seed))
        return observation, info

    def step(self, action: Any) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        """Take a discrete action, or a continuous one: float32 of shape (dimensions,).

        Returns the observation, the reward, whether the task ended, whether the episode was cut off, and an empty
        dictionary.

        Raises:
            RuntimeError: no episode is under way.
            TypeError, ValueError: there is no such action.
        """
        return self._environment.step(action)


class Rollout(NamedTuple):
    """What `VectorEnv.collect` gives; row t is step t."""

    observations: Observations
    """What was seen before each action, (steps, n, values)."""
    actions: Actions
    """The actions that were taken, (steps, n) or (steps, n, dimensions)."""
    rewards: NDArray[np.float64]
    """(steps, n)."""
    terminations: Flags
    """Whether the task ended with the step, (steps, n)."""
    truncations: Flags
    """Whether the episode was cut off with the step, (steps, n)."""
    next_observations: Observations
    """What is seen after the last step, (n, values)."""
    ended: NDArray[np.int64]
    """Step and environment of each end of an episode, (ends, 2)."""
    final_observations: Observations
    """The last observation of each of these episodes, (ends, values)."""


class VectorEnv(gymnasium.vector.VectorEnv[Observations, Any, NDArray[Any]]):
    """Environments of one task that take their steps together, with the episodes of Gymnasium's `SyncVectorEnv`.

    Args:
        task: the name of Gymnasium's environment, such as `CartPole-v1`.
        num_envs: how many there are, from 1 to 1,048,576.
        max_episode_steps: the limit of an episode's steps; -1 for none. By default Gymnasium's.
        autoreset_mode: when an environment whose episode ended begins the next.
        render_mode: None; nothing is drawn.

    Raises:
        TypeError, ValueError: an argument has another type or value; the message names it.
    """

    def __init__(
        self,
        task: str,
        num_envs: int = 1,
        *,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        self._task = known = _task(task)
        _refuse_rendering(render_mode)
        mode = _mode(autoreset_mode)
        self._environments = _torchforge.make_vec(
            task, num_envs, mode.value, max_episode_steps=max_episode_steps
        )
        self.metadata = {"render_modes": [], "autoreset_mode": mode}
        self.num_envs = operator.index(num_envs)
        self.single_observation_space = copy.deepcopy(known.observations)
        self.single_action_space = copy.deepcopy(known.actions)
        self.observation_space = batch_space(known.observations, num_envs)
        self.action_space = batch_space(known.actions, num_envs)
        self._unseeded = np.ones(self.num_envs, dtype=np.bool_)
        self._seeds = np.zeros(self.num_envs, dtype=np.uint64)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]  # as SyncVectorEnv's
        """The seed that each environment's generator began with last; -1 before its first reset."""
        return tuple(np.where(self._unseeded, -1, self._seeds.astype(object)))

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | NDArray[np.integer[Any]] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode everywhere, or where `options["reset_mask"]`, (n,) of bool, is true.

        Environment i gets the seed `seed + i`, or `seed[i]`. Environments without one go on where they are, and their
        first reset draws a seed. Returns all observations, (n, values), and an empty dictionary.

        Raises:
            TypeError, ValueError: a seed is not a whole number from 0 to 2**64 - 1, `options` holds something else, or
                the mask has another type, layout or shape.
        """
        _refuse(options, frozenset({"reset_mask"}))
        mask = (options or {}).get("reset_mask")
        # An array counts as a whole number where only `__index__` is asked for.
        seed = seed.tolist() if isinstance(seed, np.ndarray) else seed
        seeds = self._drawn(seed)
        observations, info = self._environments.reset(seed=seeds, reset_mask=mask)
        self._began(seeds, mask)
        if isinstance(seed, SupportsIndex):
            super().reset(seed=operator.index(seed))
        return observations, info

    def _drawn(self, seed: int | Sequence[int | None] | None) -> Any:
        """The seeds as given; before an environment's first reset one is drawn where none is given."""
        if not self._unseeded.any() or isinstance(seed, SupportsIndex):
            return seed
        listed: list[int | None] = [None] * self.num_envs if seed is None else list(seed)
        if len(listed) != self.num_envs:
            return listed
        drawn = np.random.SeedSequence().generate_state(self.num_envs, np.uint64)
        each = zip(listed, self._unseeded, drawn, strict=True)
        return [int(new) if given is None and unseeded else given for given, unseeded, new in each]

    def _began(self, seeds: int | Sequence[int | None] | None, mask: Flags | None) -> None:
        """Keep the seeds that the environments of the mask began with; Rust took them."""
        if isinstance(seeds, SupportsIndex):
            first = operator.index(seeds)
            seeds = range(first, first + self.num_envs)
        where = np.arange(self.num_envs) if mask is None else np.flatnonzero(mask)
        if seeds is not None:
            for index in where.tolist():
                if (seed := seeds[index]) is not None:
                    self._seeds[index] = seed
        self._unseeded[where] = False

    def step(self, actions: Any) -> tuple[Observations, NDArray[np.float64], Flags, Flags, dict[str, Any]]:
        """Take a step everywhere: whole numbers, (n,), or float32, (n, dimensions).

        Returns observations, (n, values), rewards, terminations and truncations, (n,) each, and a dictionary. In the
        mode SAME_STEP, where episodes ended, it has `final_obs` and `final_info` as Gymnasium's `SyncVectorEnv`.

        Raises:
            RuntimeError: no episode is under way; in the mode DISABLED also where one ended and was not begun anew.
            TypeError, ValueError: there is no such action. Then no environment took a step.
        """
        observations, rewards, terminations, truncations, info = self._environments.step(self._fit(actions))
        if "final_obs" in info:
            rows, ended = info["final_obs"], info["_final_obs"]
            last = np.full(self.num_envs, None, dtype=object)
            for index in np.flatnonzero(ended):
                last[index] = rows[index]
            info = {"final_obs": last, "_final_obs": ended, "final_info": {}, "_final_info": ended.copy()}
        return observations, rewards, terminations, truncations, info

    def collect(
        self,
        n_steps: int,
        policy: Callable[[Observations], Any] | Actions | None = None,
        *,
        out: tuple[Observations, NDArray[np.float64], Flags, Flags] | None = None,
    ) -> Rollout:
        """Take many steps in one call.

        Args:
            n_steps: how many steps each environment takes.
            policy: a function from observations, (n, values), to the actions of a step; or all actions beforehand,
                (n_steps, n) or (n_steps, n, dimensions). Without one, actions are drawn from `action_space.np_random`.
            out: arrays to write observations, rewards, terminations and truncations into, with the shapes and types
                that `Rollout` says. Nobody may use them until the call returns.

        With all actions beforehand the whole rollout is Rust's, and other Python threads run meanwhile. A refused call
        changes nothing. Where the actions of a function are refused, the steps before them stay taken. Where memory
        is too short, drawn actions stay drawn.

        Raises:
            RuntimeError: no episode is under way, or the autoreset mode is DISABLED.
            TypeError, ValueError: an argument has another type or value; the message names it.
            MemoryError: there is no memory for so many steps.
        """
        # Before a step is taken or an action drawn, so that a refused call changes nothing.
        steps = self._environments.check_collect(n_steps, out=out)
        if callable(policy):
            return self._follow(steps, policy, out)
        actions = self._random_actions(steps) if policy is None else self._fit(policy)
        if len(actions) != steps:
            raise ValueError(
                f"policy holds actions of {len(actions)} steps and n_steps is {steps}; make them equal"
            )
        (seen, rewards, ends, cuts), now, ended, last = self._environments.collect(actions, out=out)
        return Rollout(seen, actions, rewards, ends, cuts, now, ended, last)

    def _follow(
        self,
        steps: int,
        policy: Callable[[Observations], Any],
        out: tuple[Observations, NDArray[np.float64], Flags, Flags] | None,
    ) -> Rollout:
        """A rollout whose actions answer what is seen: a call for each step, into rows of the same arrays."""
        shape = (steps, self.num_envs)
        seen, rewards, terminations, truncations = out or (
            np.zeros((*shape, *self._task.observations.shape), np.float32),
            np.zeros(shape),
            np.zeros(shape, np.bool_),
            np.zeros(shape, np.bool_),
        )
        space = self._task.actions
        taken = np.zeros((*shape, *(space.shape or ())), space.dtype)
        ended, last = [np.zeros((0, 2), np.int64)], [seen[:0, 0]]
        for step in range(steps):
            row = slice(step, step + 1)
            actions = self._fit(policy(self._environments.observations))[np.newaxis]
            _, _, ends, final = self._environments.collect(
                actions, out=(seen[row], rewards[row], terminations[row], truncations[row])
            )
            taken[row] = actions
            ended.append(ends + np.array([step, 0]))
            last.append(final)
        now = self._environments.observations
        return Rollout(
            seen, taken, rewards, terminations, truncations, now, np.concatenate(ended), np.concatenate(last)
        )

    def _random_actions(self, steps: int) -> Actions:
        random, space, shape = self.action_space.np_random, self._task.actions, (steps, self.num_envs)
        if isinstance(space, Discrete):
            return random.integers(int(space.n), size=shape)
        return random.uniform(space.low, space.high, size=(*shape, *space.shape)).astype(np.float32)

    def _fit(self, actions: Any) -> Any:
        """Contiguous, and whole numbers of every width as int64: neither changes a value."""
        array = np.asarray(actions)
        if array.ndim == 0:
            raise TypeError(f"actions is {actions!r} and must be an array of one for each environment")
        if isinstance(self._task.actions, Discrete) and np.can_cast(array.dtype, np.int64):
            return np.ascontiguousarray(array, dtype=np.int64)
        return np.ascontiguousarray(array)


for _name, _known in _TASKS.items():
    gymnasium.register(
        f"torchforge/{_name}",
        entry_point="torchforge.envs:Env",
        vector_entry_point="torchforge.envs:VectorEnv",
        max_episode_steps=_known.max_episode_steps,
        reward_threshold=_known.reward_threshold,
        kwargs={"task": _name},
    )
