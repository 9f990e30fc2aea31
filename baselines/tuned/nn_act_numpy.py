"""`nn-act` as the tuned trainings act: by NumPy."""

import numpy as np

from baselines.benchmarks import nn_act
from baselines.benchmarks.library import NUMPY
from baselines.benchmarks.nn_act import Call, Floats, Given, Seen
from baselines.benchmarks.sac import LOG_STD_MAX, LOG_STD_MIN, PARITY_SCALE
from baselines.contract import protocol
from baselines.tuned.few_rows import FewRows, given_weights, relu, tanh

_HALF_RANGE = np.float32((LOG_STD_MAX - LOG_STD_MIN) / 2)
_MIDDLE = np.float32((LOG_STD_MAX + LOG_STD_MIN) / 2)
_SCALE = np.float32(PARITY_SCALE)
# The layers of DQN's network and of PPO's, beside their activations.
_LAYERS = ("0", "2", "4")


def dqn_call(given: Given) -> Call:
    """The values of all actions."""
    online = FewRows(given_weights(given, "online", *_LAYERS), relu)
    return lambda seen: (_answers(online, seen.observations),)


def ppo_call(given: Given) -> Call:
    """The policy and the values."""
    actor, critic = (FewRows(given_weights(given, name, *_LAYERS), tanh) for name in ("actor", "critic"))

    def call(seen: Seen) -> tuple[Floats, Floats]:
        logits = _answers(actor, seen.observations)
        logits -= np.logaddexp.reduce(logits, axis=1, keepdims=True)
        return logits, _answers(critic, seen.observations)[:, 0]

    return call


def sac_call(given: Given) -> Call:
    """An action."""
    hidden, mean, log_std = (
        FewRows(given_weights(given, "actor", *names), relu)
        for names in (("fc1", "fc2"), ("fc_mean",), ("fc_logstd",))
    )

    def call(seen: Seen) -> tuple[Floats]:
        values = hidden(seen.observations[0])
        relu(values)
        deviation = log_std(values)
        tanh(deviation)
        deviation *= _HALF_RANGE
        deviation += _MIDDLE
        np.exp(deviation, deviation)
        deviation *= seen.noise[0]
        deviation += mean(values)
        tanh(deviation)
        deviation *= _SCALE
        return (deviation[None],)

    return call


def _answers(network: FewRows, observations: Floats) -> Floats:
    """A network's answers, (rows, outputs). One row goes through as a vector, which takes less time."""
    return network(observations) if len(observations) > 1 else network(observations[0])[None]


WAYS = {"dqn": dqn_call, "ppo": ppo_call, "sac": sac_call}


if __name__ == "__main__":
    nn_act.run(protocol.parser(__doc__).parse_args(), WAYS, NUMPY)
