"""`update` and `nn-step` by the functions of the tuned trainings: eager PyTorch, or with --compile torch.compile."""

from collections.abc import Callable, Sequence
from functools import partial

from torch import Tensor

from baselines.benchmarks.sac import POLICY_FREQUENCY
from baselines.benchmarks.training import COMPILE_HELP
from baselines.benchmarks.update import Given, Updates, Way, minibatches
from baselines.contract import protocol
from baselines.references import dqn, ppo, sac
from baselines.references.update import (
    Critics,
    bounds_of,
    critics_way,
    named_critics,
    noises_of,
    serve,
)
from baselines.tuned import dqn as tuned_dqn
from baselines.tuned import ppo as tuned_ppo
from baselines.tuned import sac as tuned_sac


def dqn_updates(make_learner: type[tuned_dqn.Learner]) -> Callable[[Given], Updates]:
    """As in `tuned/dqn.py`."""

    def start(given: Given) -> Updates:
        online, target = (dqn.given_network(given, name) for name in ("online", "target"))
        learner = make_learner(online, target)
        batches = [dqn.given_batch(given, index) for index in minibatches(given)]
        return Updates(lambda index: learner.update(batches[index]), online.state_dict)

    return start


def ppo_updates(make_learner: type[tuned_ppo.Learner]) -> Callable[[Given], Updates]:
    """As in `tuned/ppo.py`."""

    def start(given: Given) -> Updates:
        agent = ppo.given_agent(given)
        learner = make_learner(agent)
        batches = [ppo.given_batch(given, index) for index in minibatches(given)]
        return Updates(lambda index: learner.update(batches[index]), agent.state_dict)

    return start


def sac_updates(make_learner: type[tuned_sac.Learner]) -> Callable[[Given], Updates]:
    """As in `tuned/sac.py`."""

    def start(given: Given) -> Updates:
        networks, log_alpha = sac.given_networks(given), given["log_alpha"].clone()
        learner = make_learner(networks, log_alpha, bounds_of(given))
        batches = [sac.given_batch(given, index) for index in minibatches(given)]
        noises = noises_of(given)

        def update(index: int) -> None:
            batch, (noise, rounds) = batches[index], noises[index]
            learner.update_critics(batch, noise)
            if index % POLICY_FREQUENCY == 0:
                learner.update_policy(batch.observations, rounds)
            learner.move_targets()

        return Updates(update, lambda: {**networks.state_dict(), "log_alpha": log_alpha})

    return start


def critics_of(make_learner: type[tuned_sac.Learner], given: Given) -> Critics:
    """As in `tuned/sac.py`."""
    networks = sac.given_networks(given)
    learner = make_learner(networks, given["log_alpha"].clone(), bounds_of(given))
    names = list(named_critics(networks))
    batches = [sac.given_batch(given, index) for index in minibatches(given)]
    noises = given["noise.next"]

    def update(index: int) -> tuple[Tensor, Sequence[Tensor]]:
        return learner.update_critics(batches[index], noises[index])

    return Critics(update, dict(zip(names, learner.critics, strict=True)))


EAGER = {
    "dqn": Way(dqn_updates(tuned_dqn.Learner), partial(tuned_dqn.parity, tuned_dqn.Learner)),
    "ppo": Way(ppo_updates(tuned_ppo.Learner), partial(tuned_ppo.parity, tuned_ppo.Learner)),
    "sac": Way(sac_updates(tuned_sac.Learner), partial(tuned_sac.parity, tuned_sac.Learner)),
    "critics": critics_way(partial(critics_of, tuned_sac.Learner), exact=False),
}
COMPILED = {
    "dqn": Way(dqn_updates(tuned_dqn.CompiledLearner), partial(tuned_dqn.parity, tuned_dqn.CompiledLearner)),
    "ppo": Way(ppo_updates(tuned_ppo.CompiledLearner), partial(tuned_ppo.parity, tuned_ppo.CompiledLearner)),
    "sac": Way(sac_updates(tuned_sac.CompiledLearner), partial(tuned_sac.parity, tuned_sac.CompiledLearner)),
    "critics": critics_way(partial(critics_of, tuned_sac.CompiledLearner), exact=False),
}


if __name__ == "__main__":
    parser = protocol.parser(__doc__)
    parser.add_argument("--compile", action="store_true", help=COMPILE_HELP)
    options = parser.parse_args()
    serve(options, COMPILED if options.compile else EAGER)
