"""`grpo` by rlox 1.2.0: all groups in one call, or a call for each.

    python3 -m baselines.peers.grpo_rlox batched|each --case ID --parameters JSON ...

It adds nothing to the deviation, which changes an advantage by 1e-8 of itself: less than the gate's tolerance.
"""

from collections.abc import Mapping

import numpy as np
import rlox
from numpy.typing import NDArray

from baselines.benchmarks import grpo
from baselines.contract import protocol

Array = NDArray[np.float64]


_all, _one, _joined = rlox.compute_batch_group_advantages, rlox.compute_group_advantages, np.concatenate


def batched(given: tuple[Array, int]) -> Array:
    """Advantages of rewards that lie end to end, and the size of a group."""
    rewards, size = given
    advantages: Array = _all(rewards, size)
    return advantages


def each(groups: Array) -> Array:
    """Advantages of one group after another."""
    return _joined([_one(group) for group in groups])


COURSES: Mapping[str, grpo.Course] = {
    "batched": grpo.Course(call=batched, laid_out=lambda rewards: (rewards.reshape(-1), rewards.shape[1])),
    "each": grpo.Course(call=each),
}


def main() -> None:
    """Serve the cases."""
    parser = protocol.parser(__doc__)
    parser.add_argument("calls", choices=COURSES, help="how many groups a call takes")
    options = parser.parse_args()
    grpo.run(options, COURSES[options.calls])


if __name__ == "__main__":
    main()
