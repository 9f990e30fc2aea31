"""The benchmark `update` in PyTorch: one gradient step after another, from given weights and given minibatches.

    python3 -m baselines.update faithful|tuned|compile --case ID --parameters JSON ...

The updates are those of the trainings, by the very functions that these call; acting, environment and replay
buffer are left out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import NamedTuple

import torch
from safetensors.torch import load_file
from torch import Tensor

from baselines import (
    dqn_cartpole,
    dqn_tuned,
    ppo_cartpole,
    ppo_tuned,
    protocol,
    sac_continuous,
    sac_tuned,
    training,
)
from baselines.parity_inputs import UPDATES

Given = Mapping[str, Tensor]


class Updates(NamedTuple):
    """Networks that learn: the update from the `index`-th minibatch, and their parameters by name."""

    update: Callable[[int], object]
    parameters: Callable[[], Mapping[str, Tensor]]


class Way(NamedTuple):
    """How an algorithm's updates are made: networks as given, and what the gate compares, as a training writes it."""

    start: Callable[[Given], Updates]
    parity: Callable[[Given, int], dict[str, Tensor]]


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """One case: whose update; `calls` of them are one repetition, and begin with fresh networks."""

    algorithm: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.algorithm not in WAYS["faithful"]:
            raise ValueError(f"'algorithm' must be one of {', '.join(WAYS['faithful'])}")
        if self.calls > UPDATES:
            raise ValueError(f"'calls' must be at most {UPDATES}: so many minibatches are given")


def dqn(given: Given) -> Updates:
    """As in `dqn_cartpole.py`."""
    online, target = (dqn_cartpole.given_network(given, name) for name in ("online", "target"))
    optimizer = dqn_cartpole.make_optimizer(online)
    batches = [dqn_cartpole.given_batch(given, index) for index in range(UPDATES)]
    return Updates(
        lambda index: dqn_cartpole.update(online, target, optimizer, batches[index]), online.state_dict
    )


def dqn_by(make_learner: type[dqn_tuned.Learner]) -> Callable[[Given], Updates]:
    """As in `dqn_tuned.py`."""

    def start(given: Given) -> Updates:
        online, target = (dqn_cartpole.given_network(given, name) for name in ("online", "target"))
        learner = make_learner(online, target)
        batches = [dqn_cartpole.given_batch(given, index) for index in range(UPDATES)]
        return Updates(lambda index: learner.update(batches[index]), online.state_dict)

    return start


def ppo(given: Given) -> Updates:
    """As in `ppo_cartpole.py`."""
    agent = ppo_cartpole.given_agent(given)
    optimizer = ppo_cartpole.make_optimizer(agent)
    batches = [ppo_cartpole.given_batch(given, index) for index in range(UPDATES)]
    return Updates(lambda index: ppo_cartpole.update(agent, optimizer, batches[index]), agent.state_dict)


def ppo_by(make_learner: type[ppo_tuned.Learner]) -> Callable[[Given], Updates]:
    """As in `ppo_tuned.py`."""

    def start(given: Given) -> Updates:
        agent = ppo_cartpole.given_agent(given)
        learner = make_learner(agent)
        batches = [ppo_cartpole.given_batch(given, index) for index in range(UPDATES)]
        return Updates(lambda index: learner.update(batches[index]), agent.state_dict)

    return start


def sac(given: Given) -> Updates:
    """As in `sac_continuous.py`: the critics, every second time policy and temperature as well, and the targets."""
    networks = sac_continuous.given_networks(given)
    bounds = _bounds(given)
    entropy = sac_continuous.target_entropy(given["actions"].shape[-1])
    temperature = sac_continuous.Temperature(given["log_alpha"].clone(), entropy)
    optimizers = sac_continuous.make_optimizers(networks, temperature)
    batches = [sac_continuous.given_batch(given, index) for index in range(UPDATES)]
    noises = _noises(given)

    def update(index: int) -> None:
        batch, (noise, rounds) = batches[index], noises[index]
        sac_continuous.update_critics(networks, bounds, optimizers.critics, batch, temperature.alpha, noise)
        if index % sac_continuous.POLICY_FREQUENCY == 0:
            for noise, fresh in rounds:
                sac_continuous.update_actor(
                    networks, bounds, optimizers.actor, batch.observations, temperature.alpha, noise
                )
                sac_continuous.update_temperature(
                    networks, bounds, optimizers.temperature, batch.observations, temperature, fresh
                )
        sac_continuous.move_targets(networks)

    return Updates(update, lambda: {**networks.state_dict(), "log_alpha": temperature.log_alpha})


def sac_by(make_learner: type[sac_tuned.Learner]) -> Callable[[Given], Updates]:
    """As in `sac_tuned.py`."""

    def start(given: Given) -> Updates:
        networks, log_alpha = sac_continuous.given_networks(given), given["log_alpha"].clone()
        learner = make_learner(networks, log_alpha, _bounds(given))
        batches = [sac_continuous.given_batch(given, index) for index in range(UPDATES)]
        noises = _noises(given)

        def update(index: int) -> None:
            batch, (noise, rounds) = batches[index], noises[index]
            learner.update_critics(batch, noise)
            if index % sac_continuous.POLICY_FREQUENCY == 0:
                learner.update_policy(batch.observations, rounds)
            learner.move_targets()

        return Updates(update, lambda: {**networks.state_dict(), "log_alpha": log_alpha})

    return start


def _bounds(given: Given) -> sac_continuous.Bounds:
    like = given["log_alpha"]
    return sac_continuous.Bounds(like.new_full((1,), sac_continuous.PARITY_SCALE), like.new_zeros(1))


def _noises(given: Given) -> list[tuple[Tensor, list[tuple[Tensor, Tensor]]]]:
    """For each minibatch the noise of the critics' update, and that of each round of policy and temperature."""
    return [
        (
            given["noise.next"][index],
            list(zip(given["noise.policy"][index], given["noise.alpha"][index], strict=True)),
        )
        for index in range(UPDATES)
    ]


WAYS: Mapping[str, Mapping[str, Way]] = {
    "faithful": {
        "dqn": Way(dqn, dqn_cartpole.parity),
        "ppo": Way(ppo, ppo_cartpole.parity),
        "sac": Way(sac, sac_continuous.parity),
    },
    "tuned": {
        "dqn": Way(dqn_by(dqn_tuned.Learner), partial(dqn_tuned.parity, dqn_tuned.Learner)),
        "ppo": Way(ppo_by(ppo_tuned.Learner), partial(ppo_tuned.parity, ppo_tuned.Learner)),
        "sac": Way(sac_by(sac_tuned.Learner), partial(sac_tuned.parity, sac_tuned.Learner)),
    },
    "compile": {
        "dqn": Way(dqn_by(dqn_tuned.CompiledLearner), partial(dqn_tuned.parity, dqn_tuned.CompiledLearner)),
        "ppo": Way(ppo_by(ppo_tuned.CompiledLearner), partial(ppo_tuned.parity, ppo_tuned.CompiledLearner)),
        "sac": Way(sac_by(sac_tuned.CompiledLearner), partial(sac_tuned.parity, sac_tuned.CompiledLearner)),
    },
}


def measure(way: Way, given: Given, parameters: Parameters) -> tuple[list[float], dict[str, Tensor]]:
    """Seconds an update, one figure a repetition, and what the gate compares.

    The parity updates come first: what has to be compiled is compiled then. The parameters after all updates are
    those that the last timed repetition left.
    """
    found = way.parity(given, parameters.calls)
    updates: list[Updates] = []

    def start() -> Callable[[], object]:
        updates[:] = [way.start(given)]
        update, indices = updates[0].update, count()
        return lambda: update(next(indices))

    seconds, _ = parameters.time_anew(start)
    after = {f"after.{name}": each.detach() for name, each in updates[0].parameters().items()}
    return seconds, found | {name: each for name, each in after.items() if name in found}


def main() -> None:
    """Serve every case: read its inputs, time the updates, write the outputs, print the measurement."""
    parser = protocol.parser(__doc__)
    parser.add_argument("way", choices=WAYS, help="how the updates are made")
    options = parser.parse_args()
    torch.set_num_threads(protocol.threads())

    def serve(
        request: protocol.Request, case: protocol.Case, parameters: Parameters
    ) -> tuple[list[float], dict[str, int]]:
        given = protocol.input_file(request, case, "parity.safetensors", load_file)
        seconds, found = measure(WAYS[options.way][parameters.algorithm], given, parameters)
        if (directory := request.output_of(case)) is not None:
            training.write(directory / "update.safetensors", found)
        return seconds, {"updates": parameters.calls}

    protocol.serve(options, Parameters, serve)


if __name__ == "__main__":
    main()
