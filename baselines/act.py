"""The benchmark `act` in PyTorch: the action values of one observation after another, by DQN's network.

    python3 -m baselines.act faithful|tuned|compile --case ID --parameters JSON ...

As the trainings act: an observation is a NumPy array, and one forward pass gives its values.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor

from baselines import dqn_cartpole, protocol, training
from baselines.tuned import compiled, dense, detached

Given = Mapping[str, Tensor]
# Values (1, actions) of an observation (1, n).
Forward = Callable[[NDArray[Any]], Tensor]


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """One case: whose observations; one repetition is `calls` of them."""

    environment: str


def faithful(given: Given) -> Forward:
    """As in `dqn_cartpole.py`, autograd on."""
    online = dqn_cartpole.given_network(given, "online")
    return lambda observation: online(torch.Tensor(observation))


def tuned(given: Given) -> Forward:
    """As in `dqn_tuned.py`: neither autograd nor a copy."""
    weights = _weights(given)
    return lambda observation: dense(weights, torch.from_numpy(observation), torch.relu)


def compiled_forward(given: Given) -> Forward:
    """The same as one compiled program; the training acts without, because that is faster."""
    weights = _weights(given)

    @compiled
    def values(observation: Tensor) -> Tensor:
        return dense(weights, observation, torch.relu)

    return lambda observation: values(torch.from_numpy(observation))


WAYS: Mapping[str, Callable[[Given], Forward]] = {
    "faithful": faithful,
    "tuned": tuned,
    "compile": compiled_forward,
}


def _weights(given: Given) -> list[Tensor]:
    return detached(list(dqn_cartpole.given_network(given, "online").parameters()))


def measure(forward: Forward, given: Given, parameters: Parameters) -> tuple[list[float], Tensor]:
    """Seconds an observation, one figure a repetition, and the values (calls, actions) of the last repetition."""
    rows = given["observations"].flatten(0, 1)[: parameters.calls].numpy()
    observations = [rows[index : index + 1] for index in range(len(rows))]
    values: list[Tensor] = []

    def start() -> Callable[[], object]:
        values.clear()
        remaining = iter(observations)
        return lambda: values.append(forward(next(remaining)))

    seconds, _ = parameters.time_anew(start)
    return seconds, torch.cat(values).detach()


def main() -> None:
    """Serve every case: read its inputs, time the forward passes, write the outputs, print the measurement."""
    parser = protocol.parser(__doc__)
    parser.add_argument("way", choices=WAYS, help="how the values are computed")
    options = parser.parse_args()
    torch.set_num_threads(protocol.threads())

    def serve(
        request: protocol.Request, case: protocol.Case, parameters: Parameters
    ) -> tuple[list[float], dict[str, int]]:
        given = protocol.input_file(request, case, "parity.safetensors", load_file)
        seconds, values = measure(WAYS[options.way](given), given, parameters)
        if (directory := request.output_of(case)) is not None:
            training.write(directory / "values.safetensors", {"values": values})
        return seconds, {"observations": len(values)}

    protocol.serve(options, Parameters, serve)


if __name__ == "__main__":
    main()
