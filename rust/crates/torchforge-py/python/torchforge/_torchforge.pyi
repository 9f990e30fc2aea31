"""Fast, exactly reproducible reinforcement learning, written in Rust."""

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar, final, overload

import numpy
from numpy.typing import DTypeLike, NDArray

from torchforge._dlpack import SupportsDLPack

__all__ = [
    "DiskReplayBuffer",
    "Environment",
    "MappedFiles",
    "Minibatch",
    "Policy",
    "PrioritisedMinibatch",
    "PrioritisedReplayBuffer",
    "ReplayBuffer",
    "RowBatches",
    "RowLoader",
    "SequenceReplayBuffer",
    "Trainer",
    "VectorEnvironment",
    "__version__",
    "call_returning_an_array",
    "call_with_an_array",
    "call_with_five_arrays",
    "call_without_arrays",
    "compute_gae",
    "compute_gae_batched",
    "group_advantages",
    "make",
    "make_vec",
    "steps_from_rust",
    "token_kl",
    "token_kl_k1",
    "token_kl_k2",
    "token_kl_k3",
    "train_in",
    "write_rows",
]

__version__: str

_Float32Array: TypeAlias = NDArray[numpy.float32]
_Float64Array: TypeAlias = NDArray[numpy.float64]
_Float32Input: TypeAlias = _Float32Array | SupportsDLPack
_ObservationsInput: TypeAlias = _Float32Array | NDArray[numpy.uint8] | SupportsDLPack
# Of float32 or uint8, as the ring was made: a union would have to be narrowed wherever it is used.
_Observations: TypeAlias = NDArray[Any]
_Float64Input: TypeAlias = _Float64Array | SupportsDLPack
_Float = TypeVar("_Float", numpy.float32, numpy.float64)
_Value = TypeVar("_Value")

def compute_gae(
    rewards: _Float64Input,
    values: _Float64Input,
    dones: _Float64Input,
    last_value: float,
    gamma: float,
    lam: float,
    *,
    out: tuple[_Float64Array, _Float64Array] | None = None,
) -> tuple[_Float64Array, _Float64Array]:
    """Advantages and returns of one trajectory (Schulman et al., 2016).

    Args:
        rewards: the reward of each step, (length,).
        values: the estimated value of the state before each step, (length,).
        dones: 1 where the episode ended with this step, otherwise 0, (length,).
        last_value: the estimated value of the state after the last step.
        gamma: the discount of a step.
        lam: the weight of longer estimates.
        out: arrays to write the advantages and returns into, (length,) each.

    All arrays are float64 and C-contiguous. What is read may also be a tensor on the CPU of any library with DLPack. The
    bytes of the result are the same on every machine. Long results are the two halves of one array, so that either keeps
    the other's memory.

    Raises:
        TypeError: a number is none, or `out` is no tuple of two.
        ValueError: an array has another type, layout or shape, or holds NaN; a number is not finite; a tensor lies on
            another device or needs a gradient; or `out` shares memory with another argument. Nothing was written.
    """

def compute_gae_batched(
    rewards: _Float64Input,
    values: _Float64Input,
    dones: _Float64Input,
    last_values: _Float64Input,
    gamma: float,
    lam: float,
    *,
    out: tuple[_Float64Array, _Float64Array] | None = None,
) -> tuple[_Float64Array, _Float64Array]:
    """Advantages and returns of several trajectories: `compute_gae` for every row of (batch, length) arrays.

    `last_values` has shape (batch,); `out` holds arrays of shape (batch, length).
    """

def group_advantages(
    rewards: _Float64Input, epsilon: float = 1e-8, *, out: _Float64Array | None = None
) -> _Float64Array:
    """Advantages within groups of answers (GRPO: Shao et al., 2024).

    Args:
        rewards: the reward of each answer, (groups, size).
        epsilon: what is added to a group's standard deviation, which divides by the group's size; 0 or more.
        out: an array to write the advantages into, (groups, size).

    Each reward less its group's mean, over the deviation plus `epsilon`; 0 where that is 0. All arrays are float64 and
    C-contiguous, and none is copied; `rewards` may also be a tensor on the CPU of any library that has DLPack. The bytes
    of the result are the same on every machine.

    Raises:
        TypeError: `epsilon` is no number.
        ValueError: an array has another type, layout or shape, or holds NaN; `epsilon` is out of its range; a tensor lies
            on another device or needs a gradient; or `out` shares memory with `rewards`. Nothing was written.
    """

@overload
def token_kl(
    policy: numpy.ndarray[tuple[int], numpy.dtype[numpy.float64]],
    reference: _Float64Input,
    *,
    out: None = None,
) -> float: ...
@overload
def token_kl(
    policy: _Float64Array, reference: _Float64Input, *, out: _Float64Array | None = None
) -> _Float64Array: ...
@overload
def token_kl(
    policy: SupportsDLPack, reference: _Float64Input, *, out: _Float64Array | None = None
) -> float | _Float64Array:
    """The sum over tokens of p (ln p - ln q).

    Args:
        policy: ln p of each token, (tokens,) or (batch, tokens), float64.
        reference: ln q of each token, in the same shape.
        out: an array to write the sums of several sequences into, (batch,).

    Returns a number in nats for (tokens,), and an array (batch,) for several sequences. Arguments are C-contiguous NumPy
    arrays, or tensors on the CPU of any library with DLPack, and none is copied. The bytes of the result are the same on
    every machine.

    Raises:
        ValueError: an array has another type, layout or shape, or holds NaN; a tensor lies on another device or needs a
            gradient; or `out` is given for one sequence, or shares memory with another argument. Nothing was written.
    """

@overload
def token_kl_k1(  # type: ignore[overload-overlap]  # a vector comes first
    policy: numpy.ndarray[tuple[int], numpy.dtype[_Float]],
    reference: NDArray[_Float] | SupportsDLPack,
    *,
    out: None = None,
) -> float: ...
@overload
def token_kl_k1(
    policy: NDArray[_Float],
    reference: NDArray[_Float] | SupportsDLPack,
    *,
    out: NDArray[_Float] | None = None,
) -> NDArray[_Float]: ...
@overload
def token_kl_k1(
    policy: SupportsDLPack,
    reference: SupportsDLPack,
    *,
    out: _Float32Array | _Float64Array | None = None,
) -> float | _Float32Array | _Float64Array:
    """The sum over tokens of Schulman's estimator k1, ln(p/q) ("Approximating KL Divergence", 2020).

    The tokens are those that the policy chose. The estimator is unbiased, of the highest variance, and negative for many
    a token. Arguments are float32 or float64, all of one type. Terms and sums are computed in float64, and each sum is
    rounded to the type of the arguments. All else is as of `token_kl`.
    """

@overload
def token_kl_k2(  # type: ignore[overload-overlap]  # a vector comes first
    policy: numpy.ndarray[tuple[int], numpy.dtype[_Float]],
    reference: NDArray[_Float] | SupportsDLPack,
    *,
    out: None = None,
) -> float: ...
@overload
def token_kl_k2(
    policy: NDArray[_Float],
    reference: NDArray[_Float] | SupportsDLPack,
    *,
    out: NDArray[_Float] | None = None,
) -> NDArray[_Float]: ...
@overload
def token_kl_k2(
    policy: SupportsDLPack,
    reference: SupportsDLPack,
    *,
    out: _Float32Array | _Float64Array | None = None,
) -> float | _Float32Array | _Float64Array:
    """The sum over tokens of Schulman's estimator k2, ln(p/q)^2 / 2 ("Approximating KL Divergence", 2020).

    The estimator is biased, of a low variance, and never negative. All else is as of `token_kl_k1`.
    """

@overload
def token_kl_k3(  # type: ignore[overload-overlap]  # a vector comes first
    policy: numpy.ndarray[tuple[int], numpy.dtype[_Float]],
    reference: NDArray[_Float] | SupportsDLPack,
    *,
    out: None = None,
) -> float: ...
@overload
def token_kl_k3(
    policy: NDArray[_Float],
    reference: NDArray[_Float] | SupportsDLPack,
    *,
    out: NDArray[_Float] | None = None,
) -> NDArray[_Float]: ...
@overload
def token_kl_k3(
    policy: SupportsDLPack,
    reference: SupportsDLPack,
    *,
    out: _Float32Array | _Float64Array | None = None,
) -> float | _Float32Array | _Float64Array:
    """The sum over tokens of Schulman's estimator k3, q/p - 1 - ln(q/p) ("Approximating KL Divergence", 2020).

    The estimator is unbiased, of a low variance, and never negative. The terms of float32 are computed in float32: one
    below 1e-7 is lost in rounding, and may come out below zero. The terms of float64 keep their digits however small they
    are. All else is as of `token_kl_k1`.
    """

@final
class Environment:
    """One environment with the episodes of Gymnasium's, to the bit; made by `make`."""

    def reset(self, *, seed: int | None = None) -> tuple[NDArray[numpy.float32], dict[str, Any]]:
        """Begin an episode; returns its first observation, (values,), and an empty dictionary.

        A seed below 2**64 starts the environment's generator anew; without one it goes on where it is.

        Raises:
            RuntimeError: the first reset came without a seed.
            TypeError, ValueError: `seed` is not a whole number from 0 to 2**64 - 1.
        """

    def step(
        self, action: int | _Float32Input
    ) -> tuple[NDArray[numpy.float32], float, bool, bool, dict[str, Any]]:
        """Take a discrete action, or a continuous one of shape (dimensions,).

        Returns the observation, the reward, whether the task ended, whether the episode was cut off, and an empty
        dictionary.

        Raises:
            RuntimeError: no episode is under way.
            TypeError, ValueError: there is no such action, or it has another type, layout or shape, or holds NaN.
        """

    def snapshot(self) -> list[int]:
        """The whole state as words below 2**64: all that decides, besides the actions, what follows."""

    def restore(self, snapshot: list[int]) -> None:
        """Take up the state that `snapshot` took down of an environment made with the same arguments.

        Raises:
            ValueError: no such environment can be in this state. Then it is as it was.
        """

@final
class VectorEnvironment:
    """Environments of one kind that take their steps together, as Gymnasium's `SyncVectorEnv`; made by `make_vec`."""

    @property
    def observations(self) -> NDArray[numpy.float32]:
        """What is seen now, (n, values)."""

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | NDArray[numpy.integer[Any]] | None = None,
        reset_mask: NDArray[numpy.bool_] | SupportsDLPack | None = None,
    ) -> tuple[NDArray[numpy.float32], dict[str, Any]]:
        """Begin an episode everywhere, or where `reset_mask`, (n,), is true.

        Environment i gets the seed `seed + i`, or `seed[i]`. Returns all observations, (n, values), and an empty
        dictionary.

        Raises:
            RuntimeError: the first reset of an environment came without a seed.
            TypeError, ValueError: a seed is not a whole number from 0 to 2**64 - 1, there is not one for each
                environment, or `reset_mask` has another type, layout or shape.
        """

    def step(
        self, actions: NDArray[numpy.int64] | NDArray[numpy.float32] | SupportsDLPack
    ) -> tuple[
        NDArray[numpy.float32],
        NDArray[numpy.float64],
        NDArray[numpy.bool_],
        NDArray[numpy.bool_],
        dict[str, Any],
    ]:
        """Take discrete actions, (n,) of int64, or continuous ones, (n, dimensions) of float32.

        Returns observations, (n, values), rewards, terminations and truncations, (n,) each, and a dictionary. In
        the mode SameStep, where episodes ended, it has `final_obs`, (n, values), whose rows `_final_obs`, (n,), are
        true hold last observations; the other rows mean nothing.

        Raises:
            RuntimeError: no episode is under way; in the mode Disabled also where one ended and was not begun anew.
            ValueError: there is no such action, or they have another type, layout or shape, or hold NaN; none are
                converted. Then no environment took a step.
        """

    def check_collect(
        self,
        n_steps: int,
        *,
        out: tuple[NDArray[numpy.float32], NDArray[numpy.float64], NDArray[numpy.bool_], NDArray[numpy.bool_]]
        | None = None,
    ) -> int:
        """The number of steps, where nothing but actions could refuse to collect so many into `out`. Takes no step.

        Raises:
            RuntimeError, TypeError, ValueError: as of `collect`.
        """

    def collect(
        self,
        actions: NDArray[numpy.int64] | NDArray[numpy.float32] | SupportsDLPack,
        *,
        out: tuple[NDArray[numpy.float32], NDArray[numpy.float64], NDArray[numpy.bool_], NDArray[numpy.bool_]]
        | None = None,
    ) -> tuple[
        tuple[NDArray[numpy.float32], NDArray[numpy.float64], NDArray[numpy.bool_], NDArray[numpy.bool_]],
        NDArray[numpy.float32],
        NDArray[numpy.int64],
        NDArray[numpy.float32],
    ]:
        """Take many steps in one call, with actions of shape (steps, n) or (steps, n, dimensions).

        Returns four arrays: what was seen before each step, (steps, n, values), rewards, terminations and truncations,
        (steps, n) each, written into `out` if it is given. Then what is seen after the last step, (n, values); step
        and environment of each end of an episode, (ends, 2); the last observations of these episodes, (ends, values).

        The interpreter lock is released meanwhile: no other thread may touch `out`.

        Raises:
            RuntimeError: no episode is under way, or the mode is Disabled.
            TypeError, ValueError: as of a step; or an array of `out` has another type, layout or shape, or shares memory
                with another.
            MemoryError: there is no memory for so many steps.
        """

def make(id: str, *, max_episode_steps: int | None = None) -> Environment:  # noqa: A002 - Gymnasium's name
    """The environment that Gymnasium registers as `id`.

    `max_episode_steps` is the limit of an episode's steps: Gymnasium's by default, and none with -1.

    Raises:
        TypeError, ValueError: there is no such environment here, and the message lists the names; or no such limit.
    """

def make_vec(
    id: str,  # noqa: A002 - Gymnasium's name
    num_envs: int,
    autoreset_mode: str = "NextStep",
    *,
    max_episode_steps: int | None = None,
) -> VectorEnvironment:
    """`num_envs` environments of one name, at most 1,048,576. The modes are the values of Gymnasium's `AutoresetMode`.

    Raises:
        TypeError, ValueError: as of `make`; or there is no such mode, or no such number of environments.
    """

@final
class Trainer:
    """What learns in Rust: the agents of `torchforge.agents` are made of it."""

    @staticmethod
    def dqn(environment: Any, seed: int, options: dict[str, Any], weights: bytes | None) -> Trainer:
        """DQN in one environment, from these weights or from fresh ones."""

    @staticmethod
    def is_continuous(environment: Any) -> bool:
        """Whether an environment's actions are continuous.

        Raises:
            ValueError: there is no environment of that name.
        """

    @staticmethod
    def ppo(environments: list[Any], seed: int, options: dict[str, Any], weights: bytes | None) -> Trainer:
        """PPO in several environments, from these weights or from fresh ones. Their actions are of one kind."""

    @staticmethod
    def sac(environment: Any, seed: int, options: dict[str, Any], weights: bytes | None) -> Trainer:
        """SAC in one environment, from these weights or from fresh ones."""

    def advance(self, steps: int) -> list[tuple[int, int, float]]:
        """Take steps, of PPO as many whole iterations as hold them, with the interpreter lock released.

        Returns of each episode that ended its last step, its length and its return.

        Raises:
            RuntimeError: the training diverged, or its schedule is over. What an environment raises is raised.
        """

    @property
    def environment_steps(self) -> int:
        """Environment steps taken, of all environments."""

    @property
    def gradient_steps(self) -> int:
        """Gradient steps taken, of SAC those of the critics."""

    @property
    def loss(self) -> float | None:
        """The loss before the last gradient step; None before the first."""

    def weights(self) -> bytes:
        """A safetensors file of all networks, as the command `torchforge` writes it."""

    def policy(self, epsilon: float, seed: int) -> Policy:
        """The policy as it is now. Of DQN, `epsilon` is the probability of any action where it is not deterministic."""

    def save_checkpoint(self, path: str, words: list[tuple[str, str]]) -> None:
        """Write the whole state, and words that say what the training is.

        Raises:
            RuntimeError: the file cannot be written, or an environment cannot take down its state.
        """

    def load_checkpoint(self, path: str, words: list[tuple[str, str]]) -> None:
        """Take up the whole state of a training of which the same words were written.

        Raises:
            ValueError: the file is not a whole checkpoint of this training; the state is as it was.
        """

@final
class Policy:
    """What only acts, with weights of a training; made by `Trainer.policy`."""

    def act(
        self, observations: _Float32Input, deterministic: bool
    ) -> NDArray[numpy.int64] | NDArray[numpy.float32]:
        """Actions for observations (n, values): int64 of shape (n,), or float32 of shape (n, dimensions).

        Raises:
            ValueError: `observations` has another type, layout or shape, or the networks give what is no number.
        """

def train_in(make: Callable[[str], Any], words: Sequence[str], age: float) -> int:
    """Train as the command `torchforge` does, in environments of Gymnasium.

    Args:
        make: gives an environment by the name in the case's parameters: observations of float32 with one axis, and
            discrete actions, of sac continuous ones with one axis. It is called for each environment of ppo, which are
            stepped one after the other.
        words: dqn, ppo or sac, and the options that `torchforge --help` lists for it with a case. `--simd` holds for all
            that this module does from then on, in this process.
        age: seconds since the process began, from which `wall_seconds` is counted.

    Prints the measurement on stdout and returns the exit code, after one line on stderr if it is not 0. What an
    environment raises in its episodes is raised.
    """

@final
class Minibatch:
    """Transitions that were drawn: float32 arrays, which are views into one block of memory.

    Observations of bytes are uint8, and lie in a block of their own. Row i of every field belongs to the same transition.
    A buffer's `sample` writes it anew where it is given as `out`.
    PyTorch takes the arrays without a copy: `torch.from_numpy(minibatch.observations)`.
    """

    @property
    def observations(self) -> _Observations:
        """(batch_size, observation_len)."""

    @property
    def next_observations(self) -> _Observations:
        """(batch_size, observation_len)."""

    @property
    def actions(self) -> _Float32Array:
        """(batch_size, action_len)."""

    @property
    def rewards(self) -> _Float32Array:
        """(batch_size,)."""

    @property
    def terminated(self) -> _Float32Array:
        """1 where the task ended with the step, otherwise 0; (batch_size,)."""

    @property
    def truncated(self) -> _Float32Array:
        """1 where the episode was cut off at the step, otherwise 0; (batch_size,)."""

    @property
    def values(self) -> _Float32Array:
        """All fields one after another, as their names stand here: one array to copy to another device.

        The other arrays are views of it; observations of bytes are not in it.
        """

    def __len__(self) -> int: ...

@final
class ReplayBuffer:
    """A ring of the latest transitions, drawn uniformly with replacement.

    All values are float32; observations can be uint8. All memory is taken when it is made. Draws with the same seed are
    the same on every machine.
    """

    def __new__(
        cls,
        capacity: int,
        observation_len: int,
        action_len: int = 1,
        *,
        observation_dtype: DTypeLike = "float32",
        seed: int = 0,
    ) -> ReplayBuffer:
        """An empty ring.

        Args:
            capacity: transitions that it holds at most.
            observation_len: values in an observation.
            action_len: values in an action.
            observation_dtype: of an observation's values, float32 or uint8.
            seed: begins the generator that draws.

        Raises:
            ValueError: a number is out of its range, or there is no memory for so much.
        """

    @property
    def observation_dtype(self) -> numpy.dtype[numpy.float32] | numpy.dtype[numpy.uint8]:
        """The type of an observation's values."""

    @property
    def capacity(self) -> int:
        """Transitions held at most."""

    def push(
        self,
        observation: _ObservationsInput,
        next_observation: _ObservationsInput,
        action: float | _Float32Input,
        reward: float,
        terminated: bool,
        truncated: bool,
    ) -> None:
        """Keep one transition, in place of the oldest where the ring is full.

        Args:
            observation: what was seen before the action, (observation_len,).
            next_observation: what was really seen after it, (observation_len,): at an episode's end the last observation.
            action: (action_len,), or a number where action_len is 1.
            reward: the reward received.
            terminated: the task itself ended.
            truncated: the episode was cut off.

        Raises:
            TypeError: a number or a flag is none.
            ValueError: an array has another type, layout or shape, the action holds NaN, or a number is not finite;
                nothing was kept. Observations are not searched for NaN, which takes long for images.
        """

    def extend(
        self,
        observations: _ObservationsInput,
        next_observations: _ObservationsInput,
        actions: _Float32Input,
        rewards: _Float32Input,
        terminated: NDArray[numpy.bool_] | SupportsDLPack,
        truncated: NDArray[numpy.bool_] | SupportsDLPack,
    ) -> None:
        """Keep several transitions, one after another, as `push` keeps each.

        Args:
            observations: (n, observation_len).
            next_observations: (n, observation_len).
            actions: (n, action_len).
            rewards: (n,).
            terminated: booleans, (n,).
            truncated: booleans, (n,).

        Other threads of Python run while many are kept, and may not change the arrays.

        Raises:
            ValueError: an array has another type, layout or shape, the actions hold NaN, or a reward is not finite;
                nothing was kept.
        """

    def sample(self, batch_size: int, *, out: Minibatch | None = None) -> Minibatch:
        """Draw transitions; into `out`, if it is given, without taking memory.

        Raises:
            MemoryError: there is no memory for so many.
            ValueError: nothing was pushed yet, or `out` is of other sizes.
        """

    def seed(self, seed: int) -> None:
        """Begin the draws that follow anew."""

    def rows(
        self, start: int, stop: int
    ) -> tuple[_Observations, _Observations, _Float32Array, _Float32Array, _Float32Array, _Float32Array]:
        """Copies of the rows of memory from start to before stop, a field each, in the order of `push`."""

    def __len__(self) -> int: ...

@final
class PrioritisedReplayBuffer:
    """A ring of the latest transitions, drawn in proportion to their priorities (Schaul et al., 2016).

    All values are float32; observations can be uint8.

    A priority is `(|error| + epsilon) ** alpha`, of the error that was given last. A new transition gets the highest
    priority that any had so far, at first 1. With several steps a drawn transition spans that many, or those up to the
    end of its episode or the newest transition. All memory is taken when the ring is made. Draws with the same seed are
    the same on every machine.
    """

    def __new__(
        cls,
        capacity: int,
        observation_len: int,
        action_len: int = 1,
        *,
        alpha: float = 0.6,
        epsilon: float = 1e-6,
        steps: int = 1,
        gamma: float = 0.99,
        observation_dtype: DTypeLike = "float32",
        seed: int = 0,
    ) -> PrioritisedReplayBuffer:
        """An empty ring.

        Args:
            capacity: transitions that it holds at most.
            observation_len: values in an observation.
            action_len: values in an action.
            alpha: the exponent of priorities, 0 to 1: 0 draws uniformly.
            epsilon: what is added to the size of each error, 0 to 1, so that a transition without one is drawn again.
            steps: steps of reward that a drawn transition spans.
            gamma: the discount of a step, 0 to 1.
            observation_dtype: of an observation's values, float32 or uint8.
            seed: begins the generator that draws.

        Raises:
            ValueError: a number is out of its range, or there is no memory for so much.
        """

    @property
    def observation_dtype(self) -> numpy.dtype[numpy.float32] | numpy.dtype[numpy.uint8]:
        """The type of an observation's values."""

    @property
    def capacity(self) -> int:
        """Transitions held at most."""

    def push(
        self,
        observation: _ObservationsInput,
        next_observation: _ObservationsInput,
        action: float | _Float32Input,
        reward: float,
        terminated: bool,
        truncated: bool,
    ) -> None:
        """Keep one transition, in place of the oldest where the ring is full.

        The arguments are those of `ReplayBuffer.push`.

        Raises:
            TypeError: a number or a flag is none.
            ValueError: an array has another type, layout or shape, the action holds NaN, or a number is not finite;
                nothing was kept. Observations are not searched for NaN, which takes long for images.
        """

    def extend(
        self,
        observations: _ObservationsInput,
        next_observations: _ObservationsInput,
        actions: _Float32Input,
        rewards: _Float32Input,
        terminated: NDArray[numpy.bool_] | SupportsDLPack,
        truncated: NDArray[numpy.bool_] | SupportsDLPack,
    ) -> None:
        """Keep several transitions, one after another, as `push` keeps each.

        The arguments are those of `ReplayBuffer.extend`.

        Raises:
            ValueError: an array has another type, layout or shape, the actions hold NaN, or a reward is not finite;
                nothing was kept.
        """

    def sample(
        self, batch_size: int, *, beta: float = 0.4, out: PrioritisedMinibatch | None = None
    ) -> PrioritisedMinibatch:
        """Draw transitions, one from each of `batch_size` equal parts of the sum of all priorities.

        With an alpha of 0 each is drawn by itself.

        Args:
            batch_size: transitions to draw.
            beta: how far the weights correct the draws, 0 to 1.
            out: a minibatch to draw into, of as many transitions; what it held is gone.

        Raises:
            MemoryError: there is no memory for so many.
            ValueError: nothing was pushed yet, every priority is 0, `beta` is out of its range, or `out` is of other
                sizes or cannot be written. Nothing was drawn.
        """

    def update_priorities(self, minibatch: PrioritisedMinibatch, errors: _Float32Input) -> int:
        """Give the transitions of a minibatch the priorities of their new temporal-difference errors, (batch_size,).

        Returns how many of them were replaced since they were drawn. The errors of these change nothing.

        Raises:
            ValueError: an error is no finite number, or the array has another type, layout or shape; no priority changed.
        """

    def seed(self, seed: int) -> None:
        """Begin the draws that follow anew."""

    def __len__(self) -> int: ...

@final
class PrioritisedMinibatch:
    """Transitions that were drawn by priority; `PrioritisedReplayBuffer.update_priorities` takes it.

    `PrioritisedReplayBuffer.sample` writes it anew where it is given as `out`.
    """

    @property
    def transitions(self) -> Minibatch:
        """The transitions. Over several steps rewards are returns; next observations and flags are the last step's."""

    @property
    def discounts(self) -> _Float32Array:
        """Gamma to the power of the steps, (batch_size,): by it the next observation's value counts."""

    @property
    def weights(self) -> _Float32Array:
        """Importance weights in 0 to 1, by which each transition's gradient counts, (batch_size,)."""

    def __len__(self) -> int: ...

@final
class SequenceReplayBuffer:
    """A ring of the latest transitions of one environment, drawn as sequences of steps.

    All values are float32; observations can be uint8.

    The steps of a sequence are consecutive and of one episode. Sequences are drawn uniformly with replacement. All memory
    is taken when the ring is made. Draws with the same seed are the same on every machine.
    """

    def __new__(
        cls,
        capacity: int,
        observation_len: int,
        action_len: int = 1,
        *,
        length: int,
        observation_dtype: DTypeLike = "float32",
        seed: int = 0,
    ) -> SequenceReplayBuffer:
        """An empty ring.

        Args:
            capacity: transitions that it holds at most.
            observation_len: values in an observation.
            action_len: values in an action.
            length: steps of a sequence.
            observation_dtype: of an observation's values, float32 or uint8.
            seed: begins the generator that draws.

        Raises:
            ValueError: a number is out of its range, or there is no memory for so much.
        """

    @property
    def observation_dtype(self) -> numpy.dtype[numpy.float32] | numpy.dtype[numpy.uint8]:
        """The type of an observation's values."""

    @property
    def capacity(self) -> int:
        """Transitions held at most."""

    @property
    def length(self) -> int:
        """Steps of a sequence."""

    @property
    def sequences(self) -> int:
        """Sequences that can be drawn now."""

    def push(
        self,
        observation: _ObservationsInput,
        next_observation: _ObservationsInput,
        action: float | _Float32Input,
        reward: float,
        terminated: bool,
        truncated: bool,
    ) -> None:
        """Keep the next step of the environment, in place of the oldest where the ring is full.

        The arguments are those of `ReplayBuffer.push`. An episode goes on until a step is terminated or truncated.

        Raises:
            TypeError: a number or a flag is none.
            ValueError: an array has another type, layout or shape, the action holds NaN, or a number is not finite;
                nothing was kept. Observations are not searched for NaN, which takes long for images.
        """

    def extend(
        self,
        observations: _ObservationsInput,
        next_observations: _ObservationsInput,
        actions: _Float32Input,
        rewards: _Float32Input,
        terminated: NDArray[numpy.bool_] | SupportsDLPack,
        truncated: NDArray[numpy.bool_] | SupportsDLPack,
    ) -> None:
        """Keep several steps of the environment, one after another, as `push` keeps each.

        The arguments are those of `ReplayBuffer.extend`.

        Raises:
            ValueError: an array has another type, layout or shape, the actions hold NaN, or a reward is not finite;
                nothing was kept.
        """

    def sample(self, batch_size: int, *, out: Minibatch | None = None) -> Minibatch:
        """Draw sequences; into `out`, if it is given, without taking memory.

        `batch_size` counts transitions, so it is a multiple of `length`. Sequences follow one another, each with its
        steps in turn: `minibatch.observations.reshape(-1, length, observation_len)` is a view with one sequence a row.
        Only the last step of a sequence can end an episode.

        Raises:
            MemoryError: there is no memory for so many.
            ValueError: `batch_size` is no multiple of `length`, no episode has so many steps yet, or `out` is of other
                sizes.
        """

    def seed(self, seed: int) -> None:
        """Begin the draws that follow anew."""

    def __len__(self) -> int: ...

@final
class DiskReplayBuffer:
    """A ring of the latest transitions in a file, drawn uniformly with replacement.

    All values are float32; observations can be uint8.

    It outlives its process; made by `create` and `open`. Transitions are written in blocks, each of which is sealed when
    it is full. A process that is killed loses at most the block that was not sealed. A machine that loses its power may
    lose more: `flush` where that matters. Close the ring, or use it in a `with` statement, which seals what was pushed.

    One ring at a time has the file open. The file must not be made shorter meanwhile: that would end the process. Draws
    with the same seed are the same on every machine.
    """

    @staticmethod
    def create(
        path: str | os.PathLike[str],
        capacity: int,
        observation_len: int,
        action_len: int = 1,
        *,
        observation_dtype: DTypeLike = "float32",
        seed: int = 0,
    ) -> DiskReplayBuffer:
        """Make a file for at least the latest `capacity` transitions, and open it. A file of that name is replaced.

        All of the disk's room is taken at once. Other threads of Python run meanwhile.

        Args:
            path: of the file.
            capacity: transitions that it holds at least. Up to two blocks more may be held.
            observation_len: values in an observation.
            action_len: values in an action.
            observation_dtype: of an observation's values, float32 or uint8.
            seed: begins the generator that draws.

        Raises:
            OSError: the file cannot be made, as where the disk is full.
            ValueError: a number is out of its range, or no file could hold so much.
        """

    @staticmethod
    def open(path: str | os.PathLike[str], *, seed: int = 0) -> DiskReplayBuffer:
        """Open a file that `create` made, with all transitions that were sealed. None of them is read.

        Raises:
            OSError: the file cannot be opened, or another ring has it open.
            ValueError: it is no whole file of such a ring; the message names the offset and what was expected there.
        """

    @property
    def observation_dtype(self) -> numpy.dtype[numpy.float32] | numpy.dtype[numpy.uint8]:
        """The type of an observation's values."""

    @property
    def capacity(self) -> int:
        """Transitions that are held at least, once so many were pushed. Up to two blocks more may be."""

    @property
    def block_rows(self) -> int:
        """Transitions of a block: the last so many may be lost with the process."""

    def push(
        self,
        observation: _ObservationsInput,
        next_observation: _ObservationsInput,
        action: float | _Float32Input,
        reward: float,
        terminated: bool,
        truncated: bool,
    ) -> None:
        """Keep one transition. The first of a block replaces the oldest block where the ring is full.

        The arguments are those of `ReplayBuffer.push`.

        Raises:
            TypeError: a number or a flag is none.
            ValueError: an array has another type, layout or shape, the action holds NaN, or a number is not finite;
                nothing was kept. Observations are not searched for NaN, which takes long for images.
        """

    def extend(
        self,
        observations: _ObservationsInput,
        next_observations: _ObservationsInput,
        actions: _Float32Input,
        rewards: _Float32Input,
        terminated: NDArray[numpy.bool_] | SupportsDLPack,
        truncated: NDArray[numpy.bool_] | SupportsDLPack,
    ) -> None:
        """Keep several transitions, one after another, as `push` keeps each.

        The arguments are those of `ReplayBuffer.extend`.

        Raises:
            ValueError: an array has another type, layout or shape, the actions hold NaN, or a reward is not finite;
                nothing was kept.
        """

    def sample(self, batch_size: int, *, out: Minibatch | None = None) -> Minibatch:
        """Draw transitions; into `out`, if it is given, without taking memory.

        Other threads of Python run meanwhile, because rows may have to come from the disk.

        Raises:
            MemoryError: there is no memory for so many.
            ValueError: nothing was pushed yet, or `out` is of other sizes.
        """

    def seed(self, seed: int) -> None:
        """Begin the draws that follow anew."""

    def seal(self) -> None:
        """Seal what was pushed, so that a killed process does not lose it."""

    def flush(self) -> None:
        """Seal what was pushed, and wait until all is on the disk.

        Raises:
            OSError: the disk fails.
        """

    def verify(self) -> None:
        """Read all sealed transitions, and compare each block with its checksum.

        Raises:
            ValueError: a block differs from its checksum.
        """

    def close(self) -> None:
        """Seal what was pushed, and let another ring open the file. This one holds nothing any more."""

    def __len__(self) -> int: ...
    def __enter__(self) -> DiskReplayBuffer: ...
    def __exit__(self, kind: object, error: object, traceback: object) -> None: ...

@final
class MappedFiles:
    """Mapped files that a loader reads: see `torchforge.data.MmapDataset`."""

    def __new__(cls, paths: Sequence[str], positioned: bool) -> MappedFiles: ...
    def columns(self) -> list[tuple[str, str, list[int]]]:
        """The name, NumPy's type and the shape of a row of each column."""

    def firsts(self) -> list[int]:
        """The first row of each block: rows of one block lie side by side."""

    def places(self, row: int) -> tuple[int, list[int]]:
        """The number of a row's file, and its first byte there in each column."""

    def check(self, file: int) -> None:
        """Compare the length of a file with what it was when it was opened.

        Raises:
            OSError: it is shorter.
            ValueError: there is no such file.
        """

    def together(self, row: int) -> int:
        """How many rows lie one behind another from this one on, itself among them."""

    def verify(self) -> int:
        """Read all rows, and return how many blocks were compared with their checksum."""

    def __len__(self) -> int: ...

@final
class RowLoader:
    """The batches of mapped files, epoch after epoch: see `torchforge.data.DataLoader`."""

    def __new__(
        cls,
        files: MappedFiles,
        batch_size: int,
        *,
        shuffle: bool,
        seed: int,
        drop_last: bool,
        prefetch: int,
        workers: int,
    ) -> RowLoader: ...
    def begin(self) -> RowBatches:
        """Begin the next epoch, or go on where the loader was resumed."""

    def state(self, number: int, handed: int) -> bytes:
        """Where the iteration is, where of the run of this number so many batches were handed on.

        Nothing of a later run was.
        """

    def resume(self, state: bytes) -> None:
        """Go on at a saved state."""

    def __len__(self) -> int: ...

@final
class RowBatches:
    """The batches of one epoch, or where they lie.

    A batch that is copied when it is asked for is a dictionary of arrays. Others are tuples that begin with their rows.
    For batches in the files then follow the first row, how many batches lie there side by side, and the number of this
    run. For a batch that a worker copied then follow its memory, and where each column begins in it.
    """

    def __iter__(self) -> RowBatches: ...
    def __next__(self) -> dict[str, NDArray[Any]] | tuple[Any, ...]: ...

def write_rows(
    path: str, columns: Sequence[tuple[str, SupportsDLPack]], *, block_rows: int | None = None
) -> None:
    """Write columns into a file: see `torchforge.data.write_dataset`."""

def call_without_arrays(value: _Value) -> _Value:
    """The value itself.

    For measurements: no call of this module takes less.
    """

def call_with_an_array(array: _Float64Input, index: int) -> float:
    """The value of an array, (values,) of float64, at an index from 0 on.

    For measurements: the array is copied, as `compute_gae` copies up to 512 values.

    Raises:
        IndexError: the array has no such value.
        TypeError, ValueError: the array has another type or layout, or the index is no whole number from 0 on.
    """

def call_with_five_arrays(
    first: _Float64Input,
    second: _Float64Input,
    third: _Float64Input,
    fourth: _Float64Input,
    fifth: _Float64Input,
    index: int,
) -> float:
    """The sum of the values of five arrays at an index, from left to right.

    For measurements; all else is as of `call_with_an_array`.
    """

def call_returning_an_array(array: _Float64Input) -> _Float64Array:
    """A new array with the values of an array, (values,) of float64.

    For measurements; the array is taken as by `call_with_an_array`.

    Raises:
        ValueError: the array has another type or layout.
    """

def steps_from_rust(environment: Any, actions: Sequence[int]) -> _Float32Array:
    """Steps of an environment of Gymnasium that Rust calls, as a training in it does, with a reset where an episode ends.

    For measurements.

    Args:
        environment: discrete actions, and observations of float32 with one axis. An episode has begun.
        actions: whole numbers that count from the first action, one for each step.

    Returns:
        The last observation, (values,) of float32.

    Raises:
        ValueError: the environment has other spaces, an action is none of its own, or there is none.
        Exception: what the environment raises.
    """
