"""`buffer-push` and `buffer-sample` by TorchRL 0.14.1: its `ReplayBuffer` on a `LazyTensorStorage`.

    python3 -m baselines.peers.buffer_torchrl push|sample --case ID --parameters JSON ...

A transition is a tensordict, which is made outside the clock, as a collector makes it.
"""

import logging
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tensordict import TensorDict
from torchrl.data import LazyTensorStorage, ReplayBuffer

from baselines.benchmarks import buffer_sample, buffers
from baselines.contract import protocol
from baselines.inputs.transitions import Fields

# It logs to stdout, which belongs to the protocol.
logging.getLogger("torchrl").setLevel(logging.WARNING)


class Ring:
    """Its ring."""

    def __init__(self, capacity: int, _: int, sampler: Any = None) -> None:
        torch.set_num_threads(protocol.threads())
        self._ring = ReplayBuffer(storage=LazyTensorStorage(capacity), sampler=sampler)
        self.push = self._ring.add

    def laid_out(self, row: Fields) -> tuple[TensorDict]:
        """One tensordict."""
        return (tensordict_of(row)[0],)

    def read(self, rows: slice) -> Fields:
        """Views of these rows."""
        return _fields(self._ring[rows])

    def fill(self, fields: Fields) -> None:
        """Hold these transitions, which are as many as it has room for."""
        self._ring.extend(tensordict_of(fields))

    def seed(self, number: int) -> None:
        """Begin the draws that follow."""
        # `torch.manual_seed` asks for every other device too, which takes a millisecond.
        torch.default_generator.manual_seed(number)

    def sample(self, size: int, _: int) -> Any:
        """A minibatch of its own."""
        return self._ring.sample(size)

    def gathered(self, batches: list[Any]) -> list[buffer_sample.Drawn]:
        """Its tensors as arrays.

        The dictionaries in a tensordict are read themselves: its own ways to read a tensor take longer than half a draw.
        """
        own = [batch._tensordict for batch in batches]
        after = [each["next"]._tensordict for each in own]
        return [
            buffer_sample.Drawn(
                _together(own, "observation"),
                _together(after, "observation"),
                _together(own, "action"),
                _together(after, "reward"),
                _together(after, "terminated"),
            )
        ]


def _together(dictionaries: list[dict[str, torch.Tensor]], name: str) -> NDArray[np.float32]:
    """One tensor of each, one after the other."""
    array: NDArray[np.float32] = torch.cat([each[name] for each in dictionaries]).numpy()
    return array


def tensordict_of(fields: Fields) -> TensorDict:
    """Transitions under TorchRL's own names."""
    observations, next_observations, actions, rewards, terminated, truncated = map(torch.from_numpy, fields)
    following = {
        "observation": next_observations,
        "reward": rewards.unsqueeze(-1),
        "terminated": terminated.unsqueeze(-1),
        "truncated": truncated.unsqueeze(-1),
    }
    names = {"observation": observations, "action": actions, "next": following}
    return TensorDict(names, batch_size=[len(rewards)])


def _fields(found: TensorDict) -> Fields:
    after = found["next"]
    return Fields(
        found["observation"].numpy(),
        after["observation"].numpy(),
        found["action"].numpy(),
        *(after[name].squeeze(-1).numpy() for name in ("reward", "terminated", "truncated")),
    )


if __name__ == "__main__":
    # What is drawn needs no gradient.
    with torch.no_grad():
        buffers.main(__doc__, Ring)
