"""The reference of `update` and `nn-step`: gradient steps by the very functions that the trainings' references call."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from baselines.benchmarks import training_in_pytorch, update
from baselines.benchmarks.sac import CRITICS, PARITY_SCALE, POLICY_FREQUENCY, target_entropy
from baselines.benchmarks.update import Given, Updates, Way, minibatches
from baselines.contract import protocol
from baselines.references import dqn, ppo, sac


def dqn_updates(given: Given) -> Updates:
    """As in `references/dqn.py`."""
    online, target = (dqn.given_network(given, name) for name in ("online", "target"))
    optimizer = dqn.make_optimizer(online)
    batches = [dqn.given_batch(given, index) for index in minibatches(given)]
    return Updates(lambda index: dqn.update(online, target, optimizer, batches[index]), online.state_dict)


def ppo_updates(given: Given) -> Updates:
    """As in `references/ppo.py`."""
    agent = ppo.given_agent(given)
    optimizer = ppo.make_optimizer(agent)
    batches = [ppo.given_batch(given, index) for index in minibatches(given)]
    return Updates(lambda index: ppo.update(agent, optimizer, batches[index]), agent.state_dict)


def sac_updates(given: Given) -> Updates:
    """As in `references/sac.py`: the critics, every second time policy and temperature as well, and the targets."""
    networks = sac.given_networks(given)
    bounds = bounds_of(given)
    entropy = target_entropy(given["actions"].shape[-1])
    temperature = sac.Temperature(given["log_alpha"].clone(), entropy)
    optimizers = sac.make_optimizers(networks, temperature)
    batches = [sac.given_batch(given, index) for index in minibatches(given)]
    noises = noises_of(given)

    def update(index: int) -> None:
        batch, (noise, rounds) = batches[index], noises[index]
        sac.update_critics(networks, bounds, optimizers.critics, batch, temperature.alpha, noise)
        if index % POLICY_FREQUENCY == 0:
            for noise, fresh in rounds:
                sac.update_actor(
                    networks, bounds, optimizers.actor, batch.observations, temperature.alpha, noise
                )
                sac.update_temperature(
                    networks, bounds, optimizers.temperature, batch.observations, temperature, fresh
                )
        sac.move_targets(networks)

    return Updates(update, lambda: {**networks.state_dict(), "log_alpha": temperature.log_alpha})


class Critics(NamedTuple):
    """SAC's critics, which learn alone: the update from the `index`-th minibatch, and their parameters by name.

    An update returns its loss, and the gradients in the parameters' order.
    """

    update: Callable[[int], tuple[Tensor, Sequence[Tensor]]]
    parameters: Mapping[str, Tensor]


def critics_of(given: Given) -> Critics:
    """As in `references/sac.py`, with a policy, targets and a temperature that stay."""
    networks, bounds = sac.given_networks(given), bounds_of(given)
    temperature = sac.Temperature(given["log_alpha"].clone(), target_entropy(given["actions"].shape[-1]))
    optimizer = sac.make_optimizers(networks, temperature).critics
    parameters = named_critics(networks)
    batches = [sac.given_batch(given, index) for index in minibatches(given)]
    noises = given["noise.next"]

    def update(index: int) -> tuple[Tensor, Sequence[Tensor]]:
        loss = sac.update_critics(
            networks, bounds, optimizer, batches[index], temperature.alpha, noises[index]
        )
        return loss, [each.grad for each in parameters.values() if each.grad is not None]

    return Critics(update, parameters)


def named_critics(networks: torch.nn.ModuleDict) -> dict[str, Tensor]:
    """The parameters of both critics, in their optimiser's order."""
    return {f"{name}.{key}": each for name in CRITICS for key, each in networks[name].named_parameters()}


def critics_way(start: Callable[[Given], Critics], *, exact: bool) -> Way:
    """The way of critics that `start` makes; with `exact` its parity updates are made in double precision too."""

    def updates(given: Given) -> Updates:
        critics = start(given)
        return Updates(critics.update, lambda: critics.parameters)

    def parity(given: Given, count: int) -> dict[str, Tensor]:
        found = _consecutive(start(given), count)
        if not exact:
            return found
        return training_in_pytorch.with_exact(
            found, _consecutive(start(training_in_pytorch.in_double_precision(given)), count)
        )

    return Way(updates, parity)


def _consecutive(critics: Critics, count: int) -> dict[str, Tensor]:
    """Of the first update loss, gradients and parameters, and the parameters after all, as SAC's parity updates."""
    result: dict[str, Tensor] = {}
    for index in range(count):
        loss, gradients = critics.update(index)
        if index == 0:
            result["qf_loss"] = loss.detach()
            for (name, parameter), gradient in zip(critics.parameters.items(), gradients, strict=True):
                result[f"gradient.{name}"] = gradient.clone()
                result[f"parameter.{name}"] = parameter.detach().clone()
    return result | {f"after.{name}": each.detach() for name, each in critics.parameters.items()}


def bounds_of(given: Given) -> sac.Bounds:
    """The bounds of the actions, in the precision of the given data."""
    like, actions = given["log_alpha"], given["actions"].shape[-1]
    return sac.Bounds(like.new_full((actions,), PARITY_SCALE), like.new_zeros(actions))


def noises_of(given: Given) -> list[tuple[Tensor, list[tuple[Tensor, Tensor]]]]:
    """For each minibatch the noise of the critics' update, and that of each round of policy and temperature."""
    return [
        (
            given["noise.next"][index],
            list(zip(given["noise.policy"][index], given["noise.alpha"][index], strict=True)),
        )
        for index in minibatches(given)
    ]


WAYS = {
    "dqn": Way(dqn_updates, dqn.parity_at_any_size),
    "ppo": Way(ppo_updates, ppo.parity),
    "sac": Way(sac_updates, sac.parity),
    "critics": critics_way(critics_of, exact=True),
}


def serve(options: argparse.Namespace, ways: Mapping[str, Way]) -> None:
    """Serve the cases in PyTorch, on the launch's threads."""
    torch.set_num_threads(protocol.threads())
    update.run(options, ways, training_in_pytorch.TENSORS)


if __name__ == "__main__":
    serve(protocol.parser(__doc__).parse_args(), WAYS)
