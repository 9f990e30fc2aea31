"""The reference of `update`: gradient steps by the very functions that the references of the trainings call."""

from torch import Tensor

from baselines.benchmarks import update
from baselines.benchmarks.sac import PARITY_SCALE, POLICY_FREQUENCY, target_entropy
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


def bounds_of(given: Given) -> sac.Bounds:
    """The bounds of the actions, in the precision of the given data."""
    like = given["log_alpha"]
    return sac.Bounds(like.new_full((1,), PARITY_SCALE), like.new_zeros(1))


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
    "dqn": Way(dqn_updates, dqn.parity),
    "ppo": Way(ppo_updates, ppo.parity),
    "sac": Way(sac_updates, sac.parity),
}


if __name__ == "__main__":
    update.run(protocol.parser(__doc__).parse_args(), WAYS)
