"""`rollout` by Gymnasium 1.2.3 and NumPy at their best.

    python3 -m baselines.tuned.rollout sync|vectorised --case ID --parameters JSON ...

The kinds are those of `env_vector.py`. Advantages take two operations a step.
"""

from baselines.benchmarks import numpy_rollout, rollout
from baselines.contract import protocol
from baselines.tuned.env_vector import KINDS


def main() -> None:
    """Serve the cases."""
    parser = protocol.parser(__doc__)
    parser.add_argument("kind", choices=KINDS, help="which of Gymnasium's vectors")
    options = parser.parse_args()

    def make(environments: int, _: int) -> numpy_rollout.Vector:
        return numpy_rollout.Vector(KINDS[options.kind](environments), numpy_rollout.estimate_in_place)

    rollout.run(options, make)


if __name__ == "__main__":
    main()
