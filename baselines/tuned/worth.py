"""What each tuning is worth: every piece of the faithful work beside the ways of doing it that the variants chose from.

    python3 -m baselines.tuned.worth [--rounds 25]

prints a Markdown table: for each way the time of a call, its ratio to the faithful way's, and how far its result
is from that way's. Ways of one piece take turns; a figure is the median over the rounds of the thread's own
CPU time, which other work on the machine disturbs less than the clock on the wall.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import Tensor, nn

from baselines.benchmarks import training
from baselines.benchmarks.dqn import LEARNING_RATE
from baselines.benchmarks.sac import CRITICS
from baselines.inputs import parity
from baselines.references import dqn, ppo, sac
from baselines.references.replay_buffer import ReplayBuffer
from baselines.tuned import dqn as tuned_dqn
from baselines.tuned import ppo as tuned_ppo
from baselines.tuned import sac as tuned_sac
from baselines.tuned.adam import FusedAdam
from baselines.tuned.direct_environment import DirectEnvironment
from baselines.tuned.few_rows import FewRows, tanh
from baselines.tuned.networks import dense, detached
from baselines.tuned.ring import Ring

# Between two readings of the clock, whose own cost would show beside the shortest call: so long, or so many calls.
ROUND_SECONDS = 0.01
MOST_CALLS = 50

# What a call computed, for comparison; None where two ways cannot be compared so.
Result = Sequence[Tensor] | None


class Piece(NamedTuple):
    """A piece of work and its ways, the faithful one first."""

    name: str
    ways: Mapping[str, Callable[[], Result]]


class Still:
    """An optimiser that leaves the weights be, so that gradients alone are timed."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self.parameters = parameters

    def zero_grad(self) -> None:
        """As PyTorch's own does it."""
        for parameter in self.parameters:
            parameter.grad = None

    def step(self, gradients: Sequence[Tensor] | None = None) -> None:
        """Nothing."""

    def take_the_step_of(self, optimizer: Any) -> None:
        """From now on that optimiser leaves the weights be as well."""
        optimizer.step = self.step


def environment_step() -> Piece:
    """One step of CartPole: of a vector of one with its statistics, and of the environment alone."""
    vector = dqn.make_environments("CartPole-v1", 1)
    vector.reset(seed=1)
    unchecked = SyncVectorEnv(
        [lambda: gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1", disable_env_checker=True))],
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    unchecked.reset(seed=1)
    direct = DirectEnvironment("CartPole-v1")
    direct.reset(1)

    def step() -> None:
        if direct.step(0)[3]:
            direct.reset()

    actions = np.zeros(1, dtype=np.int64)
    return Piece(
        "environment step",
        {
            "vector of one": lambda: _nothing(vector.step(actions)),
            "the same without its checker": lambda: _nothing(unchecked.step(actions)),
            "alone": step,
        },
    )


def dqn_acting() -> Piece:
    """A greedy action from one observation."""
    online, observation = dqn.make_network(4, 2), np.zeros((1, 4), dtype=np.float32)
    learner = tuned_dqn.Learner(online, online)

    def inference() -> Result:
        with torch.inference_mode():
            return [online(torch.from_numpy(observation)).argmax()]

    return Piece(
        "DQN: act",
        {
            "module, autograd on": lambda: [torch.argmax(online(torch.Tensor(observation)), dim=1)],
            "module, inference mode, no copy": inference,
            "weights without autograd, no copy": lambda: [
                dense(learner.online, torch.from_numpy(observation), torch.relu).argmax()
            ],
            "NumPy": lambda: [torch.tensor(learner.act(observation[0]))],
        },
    )


def dqn_sampling() -> Piece:
    """A minibatch of 128 out of 10,000 transitions."""
    buffer, ring = ReplayBuffer(10_000, (4,), (1,), np.int64), Ring(10_000, (4,), (1,), np.int64)
    rows = np.random.default_rng(1).standard_normal((10_000, 4)).astype(np.float32)
    buffer.observations[:, 0], buffer.full = rows, True
    ring.observations[:], ring.rows = rows, 10_000

    def seeded(sample: Callable[[int], Sequence[Tensor]]) -> Result:
        np.random.seed(1)
        return sample(128)

    return Piece(
        "DQN: sample a minibatch (seeding included)",
        {
            "NumPy's indexing, copied": lambda: seeded(buffer.sample),
            "index_select": lambda: seeded(ring.sample),
        },
    )


def dqn_gradients() -> Piece:
    """Loss and gradients of one minibatch."""
    given = _given(parity.dqn_arrays("CartPole-v1", 1))
    online, target = (dqn.given_network(given, name) for name in ("online", "target"))
    batch = dqn.given_batch(given, 0)
    learner = tuned_dqn.Learner(online, target)

    def faithful() -> Result:
        dqn.update(online, target, Still(learner.parameters), batch)
        return [parameter.grad for parameter in learner.parameters]

    return Piece(
        "DQN: loss and gradients",
        {
            "modules, backward": faithful,
            "functions, autograd.grad": lambda: torch.autograd.grad(
                tuned_dqn.loss_of(learner.parameters, learner.target, batch), learner.parameters
            ),
        },
    )


def adam_step() -> Piece:
    """One step of Adam over DQN's six tensors."""
    gradients = [torch.randn(each.shape) for each in dqn.make_network(4, 2).parameters()]

    def optimizer(**options: bool) -> Callable[[], Result]:
        weights = [torch.zeros_like(each).requires_grad_() for each in gradients]
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient
        made = torch.optim.Adam(weights, lr=LEARNING_RATE, **options)
        return _after(made.step, detached(weights))

    direct = FusedAdam([torch.zeros_like(each) for each in gradients], LEARNING_RATE)
    return Piece(
        "Adam, 11,000 parameters in 6 tensors",
        {
            "PyTorch's default": optimizer(),
            "foreach": optimizer(foreach=True),
            "fused": optimizer(fused=True),
            "the fused kernel alone": _after(lambda: direct.step(gradients), direct.weights),
        },
    )


def denormals() -> Piece:
    """The fused step where the moments of half the weights have become denormal, as those of dead units do."""

    def stepping(*, flush: bool) -> Callable[[], Result]:
        optimizer = FusedAdam([torch.zeros(100, 100)], 1e-3)
        gradient = torch.randn(100, 100)
        gradient[50:] = 0

        def step() -> None:
            optimizer.first[0][50:] = 1e-40
            torch.set_flush_denormal(flush)
            optimizer.step([gradient])
            torch.set_flush_denormal(False)

        return step

    return Piece(
        "Adam, half of 10,000 moments denormal",
        {"kept": stepping(flush=False), "flushed": stepping(flush=True)},
    )


def dqn_copy() -> Piece:
    """The target network's copy."""
    online, target = dqn.make_network(4, 2), dqn.make_network(4, 2)
    learner = tuned_dqn.Learner(online, dqn.make_network(4, 2))
    return Piece(
        "DQN: copy to the target network",
        {
            "in arithmetic, tensor by tensor": _after(
                lambda: dqn.copy_weights(online, target), detached(list(target.parameters()))
            ),
            "one copy of all": _after(learner.copy_weights, learner.target),
        },
    )


def ppo_acting() -> Piece:
    """Actions for four observations; the faithful way computes values and log-probabilities with each."""
    agent = ppo.make_agent(4, 2)
    learner = tuned_ppo.Learner(agent)
    observations = torch.randn(4, 4)

    def faithful() -> Result:
        torch.manual_seed(1)
        with torch.no_grad():
            return ppo.act(agent, observations)[:1]

    def softmax() -> Result:
        torch.manual_seed(1)
        probabilities = dense(learner.actor, observations, torch.tanh).softmax(dim=1)
        return [(probabilities / torch.empty(4, 2).exponential_()).argmax(dim=1)]

    logits, seen = FewRows([each.numpy() for each in learner.actor], tanh), observations.numpy()

    def tuned() -> Result:
        torch.manual_seed(1)
        draws = torch.empty(4, 2).exponential_().log_().numpy()
        return [torch.from_numpy((logits(seen) - draws).argmax(axis=1))]

    return Piece(
        "PPO: act, four environments (seeding and draws included)",
        {
            "Categorical, values at once": faithful,
            "softmax and argmax, values later": softmax,
            "NumPy": tuned,
        },
    )


def ppo_advantages() -> Piece:
    """Advantages of a rollout of 128 steps of four environments."""
    given = _given(parity.ppo_arrays(1))
    rollout = training.layers(given, "rollout")
    dones = np.vstack([rollout["dones"], rollout["next_done"]])
    values = np.vstack([rollout["values"], rollout["next_value"]])
    rewards = rollout["rewards"].numpy()
    return Piece(
        "PPO: advantages of a rollout",
        {
            "PyTorch": lambda: [ppo.advantages_of(**rollout)],
            "NumPy": lambda: [torch.from_numpy(tuned_ppo.advantages_of(rewards, dones, values))],
        },
    )


def ppo_gradients() -> Piece:
    """Loss, gradients and clipping of one minibatch."""
    given = _given(parity.ppo_arrays(1))
    agent, batch = ppo.given_agent(given), ppo.given_batch(given, 0)
    learner = tuned_ppo.Learner(agent)
    still = Still(learner.parameters)
    still.take_the_step_of(learner.fused)

    def faithful() -> Result:
        ppo.update(agent, still, batch)
        return [parameter.grad for parameter in learner.parameters]

    return Piece(
        "PPO: loss, clipped gradients",
        {
            "Categorical, backward, clip_grad_norm_": faithful,
            "log_softmax, autograd.grad, foreach": lambda: learner.update(batch)[1],
        },
    )


def ppo_minibatches() -> Piece:
    """The four minibatches of an epoch."""
    given = _given(parity.ppo_arrays(1))
    flat = ppo.Minibatch(**{name: given[name][:4].flatten(0, 1) for name in ppo.Minibatch._fields})
    order = np.random.default_rng(1).permutation(512)

    def faithful() -> Result:
        return [each[order[start : start + 128]] for start in range(0, 512, 128) for each in flat]

    def tuned() -> Result:
        chosen = torch.from_numpy(order)
        split = [each.index_select(0, chosen).split(128) for each in flat]
        return [each for batch in zip(*split, strict=True) for each in batch]

    return Piece("PPO: minibatches of an epoch", {"indexed one by one": faithful, "gathered at once": tuned})


def sac_sampling() -> Piece:
    """256 actions and their log-probabilities, without gradients."""
    networks, learner, given = _sac()
    observations, noise = given["observations"][0], given["noise.next"][0]

    def faithful() -> Result:
        with torch.no_grad():
            return sac.sample(networks["actor"], learner.bounds, observations, noise)

    def tuned() -> Result:
        mean, log_std = tuned_sac.policy(learner.actor, observations)
        actions, logs = tuned_sac.sample(mean, log_std, noise, learner.bounds)
        return [actions, logs.view(-1, 1)]

    return Piece("SAC: sample 256 actions", {"Normal": faithful, "the density of the noise": tuned})


def sac_critics() -> Piece:
    """Both critics' loss and gradients."""
    networks, learner, given = _sac()
    batch, noise = sac.given_batch(given, 0), given["noise.next"][0]
    still = Still(learner.critic_parameters)
    still.take_the_step_of(learner.optimizers[0])

    def faithful() -> Result:
        sac.update_critics(networks, learner.bounds, still, batch, 1.0, noise)
        return [parameter.grad for parameter in learner.critic_parameters]

    return Piece(
        "SAC: critics' gradients",
        {
            "modules, backward": faithful,
            "functions, autograd.grad": lambda: learner.update_critics(batch, noise)[1],
        },
    )


def sac_policy() -> Piece:
    """Two rounds of actor and temperature."""
    networks, learner, given = _sac()
    observations = given["observations"][0]
    noises = list(zip(given["noise.policy"][0], given["noise.alpha"][0], strict=True))
    temperature = sac.Temperature(torch.zeros(1), -1.0)
    # The critics' gradients too: faithfully, they are computed and thrown away.
    still = Still([*learner.actor_parameters, *learner.critic_parameters])
    still_too = Still([temperature.log_alpha])
    for optimizer in learner.optimizers:
        still.take_the_step_of(optimizer)

    def faithful() -> Result:
        for noise, fresh in noises:
            sac.update_actor(networks, learner.bounds, still, observations, temperature.alpha, noise)
            sac.update_temperature(networks, learner.bounds, still_too, observations, temperature, fresh)
        return [parameter.grad for parameter in learner.actor_parameters]

    return Piece(
        "SAC: two rounds of actor and temperature",
        {
            "gradients of the critics too, one forward pass more": faithful,
            "the actor's alone, its passes shared": lambda: learner.update_policy(observations, noises)[-1][
                1
            ],
        },
    )


def sac_targets() -> Piece:
    """Both target critics' move."""
    (networks, _, _), (_, learner, _) = _sac(), _sac()
    targets = [each for name in CRITICS for each in networks[f"{name}_target"].parameters()]
    return Piece(
        "SAC: move the targets",
        {
            "in arithmetic, tensor by tensor": _after(lambda: sac.move_targets(networks), detached(targets)),
            "foreach lerp": _after(learner.move_targets, learner.targets),
        },
    )


PIECES = (
    environment_step,
    adam_step,
    denormals,
    dqn_acting,
    dqn_sampling,
    dqn_gradients,
    dqn_copy,
    ppo_acting,
    ppo_advantages,
    ppo_minibatches,
    ppo_gradients,
    sac_sampling,
    sac_critics,
    sac_policy,
    sac_targets,
)


def _nothing(_: object) -> None:
    """Nothing to compare."""


def _after(call: Callable[[], object], result: Sequence[Tensor]) -> Callable[[], Result]:
    """The call, with what it changed in place as its result."""

    def both() -> Result:
        call()
        return result

    return both


def _given(arrays: parity.Arrays) -> dict[str, Tensor]:
    return {name: torch.from_numpy(each) for name, each in arrays.items()}


def _sac() -> tuple[nn.ModuleDict, tuned_sac.Learner, dict[str, Tensor]]:
    """The parity inputs' networks, and a learner that shares their memory, at a temperature of 1."""
    given = _given(parity.sac_arrays(1))
    networks = sac.given_networks(given)
    bounds = sac.Bounds(torch.full((1,), 2.0), torch.zeros(1))
    return networks, tuned_sac.Learner(networks, torch.zeros(1), bounds), given


def difference(wanted: Result, found: Result) -> str:
    """How far one result is from another: per tensor, largest difference over largest magnitude."""
    if wanted is None or found is None:
        return ""
    pairs = [(one.flatten(), other.flatten()) for one, other in zip(wanted, found, strict=True)]
    if all(torch.equal(one, other) for one, other in pairs):
        return "same bits"
    largest = max(float((one - other).abs().max() / one.abs().max()) for one, other in pairs)
    return f"{largest:.0e}"


def measured(piece: Piece, rounds: int) -> list[tuple[str, float, str]]:
    """For each way its name, microseconds a call, and its difference from the first."""
    results = {name: call() for name, call in piece.ways.items()}
    wanted = next(iter(results.values()))
    differences = {name: difference(wanted, result) for name, result in results.items()}
    seconds: dict[str, list[float]] = {name: [] for name in piece.ways}
    for name, call in piece.ways.items():
        call()
        seconds[name].append(_seconds(call, 1))
    calls = {name: max(1, min(MOST_CALLS, int(ROUND_SECONDS / seconds[name][0]))) for name in piece.ways}
    for _ in range(rounds):
        for name, call in piece.ways.items():
            seconds[name].append(_seconds(call, calls[name]))
    return [(name, statistics.median(seconds[name][1:]) * 1e6, differences[name]) for name in piece.ways]


def _seconds(call: Callable[[], Result], calls: int) -> float:
    """The thread's own seconds a call."""
    start = time.thread_time_ns()
    for _ in range(calls):
        call()
    return (time.thread_time_ns() - start) * 1e-9 / calls


def main() -> None:
    """Measure every piece and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--rounds", type=int, default=25, help="how often each way takes its turn (default 25)"
    )
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    print("| piece | way | µs a call | of the first | result |")
    print("|---|---|---|---|---|")
    for make in PIECES:
        piece = make()
        rows = measured(piece, options.rounds)
        for index, (name, microseconds, differs) in enumerate(rows):
            ratio = "" if index == 0 else f"{microseconds / rows[0][1]:.2f}"
            title = "" if index else piece.name
            print(
                f"| {title} | {name} | {microseconds:.1f} | {ratio} | {differs if index else ''} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
