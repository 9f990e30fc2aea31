"""`ffi-from-rust` by the module `torchforge`: Rust steps Gymnasium's environment.

`dqn_rust_gymnasium.py` does so in a training. The function is there for this measurement, and the package offers it to
nobody.
"""

from torchforge import _torchforge

from baselines.benchmarks import env_step
from baselines.contract import protocol
from baselines.tuned.env_step import make

if __name__ == "__main__":
    env_step.run(protocol.parser(__doc__).parse_args(), make, _torchforge.steps_from_rust)
