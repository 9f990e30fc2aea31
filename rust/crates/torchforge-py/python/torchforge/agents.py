"""CleanRL's DQN, PPO and SAC, as Rust trains them: a seed gives the same bytes on every machine with one glibc.

from torchforge.agents import DQN

agent = DQN("CartPole-v1", seed=1).learn(60_000)
action = agent.predict(observation)
"""

import json
import math
import operator
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, SupportsIndex, TypeAlias, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from torchforge._torchforge import Policy, Trainer

__all__ = ["DQN", "PPO", "SAC", "Agent", "DQNOptions", "Episode", "PPOOptions", "Progress", "SACOptions"]

StrPath: TypeAlias = str | os.PathLike[str]


class Episode(NamedTuple):
    """An episode that ended."""

    step: int
    """The environment step, counted from 0 over all environments, that ended it."""
    length: int
    """Its number of steps."""
    total_reward: float
    """The sum of its rewards, undiscounted."""


class Progress(NamedTuple):
    """What a callback is told."""

    environment_steps: int
    """Environment steps taken, of all environments."""
    gradient_steps: int
    """Gradient steps taken; of SAC those of the critics."""
    loss: float | None
    """The loss before the last gradient step."""
    episodes: list[Episode]
    """The episodes that ended since the last call."""


Callback: TypeAlias = Callable[[Progress], bool | None]


class DQNOptions(TypedDict, total=False):
    """DQN's constants, under the names that the Rust library has; CleanRL's by default, for CartPole."""

    learning_starts: int
    """Learning happens in steps after this one."""
    train_frequency: int
    """Environment steps from one gradient step to the next."""
    target_frequency: int
    """Environment steps from one move of the target network to the next."""
    tau: float
    """Share of the online network that the target network takes over in a move."""
    buffer_size: int
    """Transitions that the replay buffer holds."""
    batch_size: int
    """Transitions in a minibatch."""
    start_epsilon: float
    """Probability of a random action in the first step."""
    end_epsilon: float
    """Probability of a random action at the end of the schedule, and where `predict` is not deterministic."""
    exploration_fraction: float
    """Share of all steps over which the probability falls."""
    gamma: float
    """Discount of a step."""
    learning_rate: float
    """Adam's."""
    n_step: int
    """Steps of reward that a transition spans."""
    prioritised: bool
    """Whether transitions are drawn by their errors (Schaul et al., 2016), not uniformly."""
    alpha: float
    """Exponent that makes a priority of an error, where `prioritised`."""
    beta: float
    """How far weights correct the bias of the draw in the first step, 0 to 1, where `prioritised`. It rises to 1."""


class PPOOptions(TypedDict, total=False):
    """PPO's constants, under the names that the Rust library has.

    By default CleanRL's: those of its `ppo.py` for CartPole, or those of its `ppo_continuous_action.py` where actions are
    continuous.
    """

    rollout_steps: int
    """Steps of each environment in an iteration."""
    minibatches: int
    """Parts that an iteration's steps are learnt from in."""
    epochs: int
    """How often an iteration's steps are learnt from."""
    learning_rate: float
    """Adam's, in the first iteration."""
    anneal_learning_rate: bool
    """Whether the learning rate falls linearly to zero."""
    target_kl: float | None
    """An iteration ends early where the policy moved further than this."""
    gamma: float
    """Discount of a step."""
    gae_lambda: float
    """Weight of longer estimates."""
    clip: float
    """How far the ratio of probabilities may leave one."""
    entropy_weight: float
    """Weight of the entropy."""
    value_weight: float
    """Weight of the critic's loss."""
    largest_gradient_norm: float
    """Length to which a longer gradient is cut."""
    normalise: bool
    """Whether observations and rewards are normalised, as Gymnasium's wrappers do. Only where actions are continuous."""


class SACOptions(TypedDict, total=False):
    """SAC's constants, under the names that the Rust library has; CleanRL's by default, but for `learning_starts`."""

    learning_starts: int
    """Actions are uniform before this step; learning happens in steps after it."""
    buffer_size: int
    """Transitions that the replay buffer holds."""
    batch_size: int
    """Transitions in a minibatch."""
    policy_frequency: int
    """Steps from one visit to the policy to the next, and updates of it then."""
    gamma: float
    """Discount of a step."""
    tau: float
    """Share of the critics that their targets take over in a step."""
    policy_learning_rate: float
    """The policy's Adam."""
    critic_learning_rate: float
    """The critics' Adam, and the temperature's."""
    alpha: float | None
    """The weight of the policy's entropy; learnt where it is None."""


_DQN: DQNOptions = {
    "learning_starts": 10_000,
    "train_frequency": 10,
    "target_frequency": 500,
    "tau": 1.0,
    "buffer_size": 10_000,
    "batch_size": 128,
    "start_epsilon": 1.0,
    "end_epsilon": 0.05,
    "exploration_fraction": 0.5,
    "gamma": 0.99,
    "learning_rate": 2.5e-4,
    "n_step": 1,
    "prioritised": False,
    "alpha": 0.6,
    "beta": 0.4,
}
_PPO: PPOOptions = {
    "rollout_steps": 128,
    "minibatches": 4,
    "epochs": 4,
    "learning_rate": 2.5e-4,
    "anneal_learning_rate": True,
    "target_kl": None,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "clip": 0.2,
    "entropy_weight": 0.01,
    "value_weight": 0.5,
    "largest_gradient_norm": 0.5,
}
# What `ppo_continuous_action.py` has otherwise.
_CONTINUOUS_PPO: PPOOptions = {
    **_PPO,
    "rollout_steps": 2048,
    "minibatches": 32,
    "epochs": 10,
    "learning_rate": 3e-4,
    "entropy_weight": 0.0,
    "normalise": True,
}
_SAC: SACOptions = {
    "learning_starts": 1_000,
    "buffer_size": 1_000_000,
    "batch_size": 256,
    "policy_frequency": 2,
    "gamma": 0.99,
    "tau": 0.005,
    "policy_learning_rate": 3e-4,
    "critic_learning_rate": 1e-3,
    "alpha": None,
}


# Of the statistics that normalise observations, in a file of weights.
_STATISTICS = "obs_rms.mean"


def _whole(name: str, value: Any, least: int = 0) -> int:
    """A whole number as Rust takes it, or an error that names the argument and its value."""
    if not isinstance(value, SupportsIndex) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r} and must be a whole number")
    number = operator.index(value)
    if not least <= number < 2**63:
        raise ValueError(f"{name} is {number} and must be a whole number from {least} to 2**63 - 1")
    return number


def _tensor_names(weights: bytes) -> set[str]:
    """The names in the header of a safetensors file, which Rust has read before."""
    start = 8
    end = start + int.from_bytes(weights[:start], "little")
    return set(json.loads(weights[start:end]))


def _checked(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults and what was given instead, each of the type of its default."""
    checked = dict(defaults)
    for name, value in given.items():
        if name not in defaults:
            raise TypeError(f"there is no option {name}; the options are {', '.join(defaults)}")
        default = defaults[name]
        if isinstance(default, bool):
            if not isinstance(value, bool):
                raise TypeError(f"{name} is {value!r} and must be True or False")
            checked[name] = value
        elif isinstance(default, int):
            checked[name] = _whole(name, value)
        elif value is None and default is None:
            checked[name] = None
        else:
            try:
                checked[name] = float(value)
            except (TypeError, ValueError):
                raise TypeError(f"{name} is {value!r} and must be a number") from None
            if not math.isfinite(checked[name]):
                raise ValueError(f"{name} is {value!r} and must be a finite number")
    return checked


class Agent:
    """What DQN, PPO and SAC have in common."""

    _make: ClassVar[Callable[..., Trainer]]

    def __init__(
        self, env: Any, *, seed: int, options: Mapping[str, Any], defaults: Mapping[str, Any]
    ) -> None:
        self._environment, self._seed = env, _whole("seed", seed)
        self._options = _checked(options, defaults)
        self._weights: bytes | None = None
        self._policy: Policy | None = None
        self._begin(self._least_steps())

    def _begin(self, total_steps: int) -> None:
        options = {**self._options, "total_steps": total_steps}
        self._trainer = type(self)._make(self._environment, self._seed, options, self._weights)
        self._total, self._policy = total_steps, None

    @classmethod
    def load(cls, path: StrPath, env: Any, **arguments: Any) -> Self:
        """An agent made with these arguments and the networks that `save` wrote, with which `learn` begins anew.

        Raises:
            OSError: the file cannot be read.
            TypeError, ValueError: it holds other networks than these arguments make, or an argument does not fit.
        """
        agent = cls(env, **arguments)
        agent._weights = Path(path).read_bytes()
        agent._begin(agent._total)
        return agent

    def _least_steps(self) -> int:
        """Steps that cannot be divided: one, or an iteration."""
        return 1

    def _stride(self) -> int:
        """Steps between two calls of a callback, and between two looks at signals."""
        return 256

    def learn(
        self, total_steps: int, callback: Callback | None = None, *, progress_bar: bool = False
    ) -> Self:
        """Train until so many environment steps were taken, of all environments together; returns the agent.

        Args:
            total_steps: the length of the whole training, which its schedules are stretched over. PPO leaves out what
                makes no whole iteration.
            callback: called every 256 steps, and after each iteration of PPO. The training stops where it returns False;
                `learn` with the same `total_steps` goes on.
            progress_bar: whether a line on stderr shows how far the training is.

        The interpreter lock is released while Rust trains. In our environments Ctrl-C raises KeyboardInterrupt where the
        callback would be called, and `learn` goes on from there.

        Raises:
            TypeError, ValueError: `total_steps` does not fit, or is another one than before.
            RuntimeError: the training diverged. What an environment of Gymnasium raises is raised.
        """
        least = self._least_steps()
        total = _whole("total_steps", total_steps, least)
        if self._trainer.environment_steps == 0:
            if total != self._total:
                self._begin(total)
        elif total != self._total:
            raise ValueError(
                f"total_steps is {total} and this training began with {self._total}; give that, or make a new agent"
            )
        last = total - total % least
        recent: list[Episode] = []
        while (left := last - self._trainer.environment_steps) > 0:
            self._policy = None
            ended = [Episode(*each) for each in self._trainer.advance(min(left, self._stride()))]
            recent = [*recent, *ended][-20:]
            if progress_bar:
                _show(self._trainer.environment_steps, last, recent)
            if callback is not None and callback(self._progress(ended)) is False:
                break
        return self

    def _progress(self, episodes: list[Episode]) -> Progress:
        trainer = self._trainer
        return Progress(trainer.environment_steps, trainer.gradient_steps, trainer.loss, episodes)

    def predict(self, observation: ArrayLike, *, deterministic: bool = True) -> Any:
        """The action for an observation, (values,), or actions for several, (n, values).

        Returns an int or a float32 array (dimensions,); for several, int64 (n,) or float32 (n, dimensions). What is not
        float32 is converted, because networks take nothing else. Without `deterministic`, DQN takes any action with the
        last probability of its schedule, and PPO and SAC draw theirs.

        Raises:
            ValueError: `observation` has another shape, or holds what is not finite.
        """
        given = np.ascontiguousarray(observation, dtype=np.float32)
        if not np.isfinite(given).all():
            raise ValueError(
                f"observation holds {given[~np.isfinite(given)][0]} and must hold finite numbers"
            )
        if self._policy is None:
            self._policy = self._trainer.policy(self._options.get("end_epsilon", 0.0), self._seed)
        if given.ndim != 1:
            return self._policy.act(given, deterministic)
        action = self._policy.act(given[np.newaxis], deterministic)[0]
        return int(action) if isinstance(action, np.integer) else action

    def save(self, path: StrPath) -> None:
        """Write the networks as a safetensors file, under CleanRL's names: all that `load` and `predict` need.

        Raises:
            OSError: the file cannot be written. It appears whole or not at all.
        """
        path = Path(path)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            part.write_bytes(self._trainer.weights())
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise

    def save_checkpoint(self, path: StrPath) -> None:
        """Write the whole state of the training, so that another process goes on to the same bytes.

        Raises:
            RuntimeError: the file cannot be written, or an environment is none of ours: it cannot take down its state.
        """
        self._trainer.save_checkpoint(os.fspath(path), self._words())

    def load_checkpoint(self, path: StrPath, total_steps: int) -> Self:
        """Take up the state that an agent with the same environment, seed and options wrote; returns this agent.

        `total_steps` is what its `learn` was given, and what the next `learn` is to be given.

        Raises:
            ValueError: the file is no checkpoint of this training. Then the agent is as it was.
        """
        before = (self._trainer, self._total, self._policy)
        self._begin(_whole("total_steps", total_steps, self._least_steps()))
        try:
            self._trainer.load_checkpoint(os.fspath(path), self._words())
        except ValueError:
            self._trainer, self._total, self._policy = before
            raise
        return self

    def _words(self) -> list[tuple[str, str]]:
        """What a checkpoint says that it is of."""
        said = {
            "agent": type(self).__name__,
            "environment": self._environment,
            "seed": self._seed,
            **self._options,
            "total_steps": self._total,
        }
        return [(name, str(value)) for name, value in said.items()]


def _show(steps: int, last: int, recent: list[Episode]) -> None:
    """A line on stderr that the next one takes the place of."""
    mean = f", mean return {sum(each.total_reward for each in recent) / len(recent):.1f}" if recent else ""
    sys.stderr.write(f"\r{steps:,} of {last:,} steps{mean}\x1b[K" + ("\n" if steps >= last else ""))
    sys.stderr.flush()


def _named(env: Any) -> Any:
    """The name of one of ours without its namespace; anything else as it is."""
    return env.removeprefix("torchforge/") if isinstance(env, str) else env


class DQN(Agent):
    """Deep Q-learning (Mnih et al., 2015), after CleanRL's `dqn.py`.

    Args:
        env: the name of one of our environments, such as `CartPole-v1`, or any environment of Gymnasium with
            discrete actions and an observation of one axis.
        seed: decides networks, exploration, and the episodes of the environment.
        options: see `DQNOptions`.

    Raises:
        TypeError, ValueError: an argument has another type or value; the message names it.
    """

    _make = Trainer.dqn

    def __init__(self, env: Any, *, seed: int, **options: Unpack[DQNOptions]) -> None:
        super().__init__(_named(env), seed=seed, options=options, defaults=_DQN)


class PPO(Agent):
    """Proximal policy optimisation (Schulman et al., 2017), after CleanRL's `ppo.py` and `ppo_continuous_action.py`.

    Args:
        env: the name of one of our environments, or a function that makes an environment of Gymnasium whose observations
            have one axis, and whose actions are discrete or have one axis.
        seed: decides networks, exploration, and the episodes of the environments.
        num_envs: environments that take their steps together; by default 4, or 1 where actions are continuous.
        options: see `PPOOptions`.

    Each environment normalises its own observations. `save` keeps the statistics of the first one, with which `predict`
    normalises.

    Raises:
        TypeError, ValueError: an argument has another type or value; the message names it.
    """

    _make = Trainer.ppo

    def __init__(
        self, env: Any, *, seed: int, num_envs: int | None = None, **options: Unpack[PPOOptions]
    ) -> None:
        if not isinstance(env, str) and not callable(env):
            raise TypeError(f"env is {env!r} and must be a name, or a function that makes an environment")
        make = (lambda: _named(env)) if isinstance(env, str) else env
        first = make()
        continuous = Trainer.is_continuous(first)
        if num_envs is None:
            num_envs = 1 if continuous else 4
        environments = [first, *(make() for _ in range(1, _whole("num_envs", num_envs, 1)))]
        defaults = _CONTINUOUS_PPO if continuous else _PPO
        super().__init__(environments, seed=seed, options=options, defaults=defaults)

    def _least_steps(self) -> int:
        return max(1, int(self._options["rollout_steps"]) * len(self._environment))

    def _stride(self) -> int:
        return self._least_steps()

    @classmethod
    def load(cls, path: StrPath, env: Any, **arguments: Any) -> Self:
        """As `Agent.load`. `normalise` must be that of the saved agent, because the networks learnt with its statistics.

        Raises:
            OSError: the file cannot be read.
            TypeError, ValueError: it holds other networks than these arguments make, was saved with another `normalise`,
                or an argument does not fit.
        """
        agent = super().load(path, env, **arguments)
        saved = agent._weights is not None and _STATISTICS in _tensor_names(agent._weights)
        if saved != agent._options.get("normalise", False):
            what = "statistics" if saved else "no statistics"
            raise ValueError(
                f"{os.fspath(path)} holds {what} of observations, and normalise is {not saved}; "
                f"load it with normalise={saved}"
            )
        return agent


class SAC(Agent):
    """Soft actor-critic (Haarnoja et al., 2018), after CleanRL's `sac_continuous_action.py`.

    Args:
        env: the name of one of our environments, such as `Pendulum-v1`, or any environment of Gymnasium whose actions and
            observations have one axis each.
        seed: decides networks, exploration, and the episodes of the environment.
        options: see `SACOptions`.

    Raises:
        TypeError, ValueError: an argument has another type or value; the message names it.
    """

    _make = Trainer.sac

    def __init__(self, env: Any, *, seed: int, **options: Unpack[SACOptions]) -> None:
        super().__init__(_named(env), seed=seed, options=options, defaults=_SAC)
