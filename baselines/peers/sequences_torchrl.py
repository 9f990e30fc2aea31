"""`sequences` by TorchRL 0.14.1: its `ReplayBuffer` with a `SliceSampler`.

    python3 -m baselines.peers.sequences_torchrl --case ID --parameters JSON ...

It draws an episode that is long enough, and then where in it the sequence begins. It keeps where episodes end
(`cache_values`) and marks no end of a sequence (`truncated_key`), which takes less time.
"""

import torch
from torchrl.data import SliceSampler

from baselines.benchmarks import sequences
from baselines.contract import protocol
from baselines.inputs.transitions import Fields
from baselines.peers import buffer_torchrl

_END = ("next", "done")


class Sampler(buffer_torchrl.Ring):
    """Its ring, drawn in slices."""

    def __init__(self, sizes: sequences.Parameters) -> None:
        slices = SliceSampler(
            slice_len=sizes.length, end_key=_END, truncated_key=None, cache_values=True, strict_length=True
        )
        super().__init__(sizes.capacity, sizes.observation, slices)

    def fill(self, fields: Fields) -> None:
        """Hold these transitions, and where episodes end."""
        steps = buffer_torchrl.tensordict_of(fields)
        steps[_END] = (steps["next", "terminated"] + steps["next", "truncated"]).bool()
        self._ring.extend(steps)


if __name__ == "__main__":
    # What is drawn needs no gradient.
    with torch.no_grad():
        sequences.run(protocol.parser(__doc__).parse_args(), Sampler)
