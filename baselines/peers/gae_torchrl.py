"""`gae` by TorchRL 0.14.1, by either of its paths: the loop over time steps or the vectorised convolution.

The vectorised path drops discount factors below 1e-7, which the gate's tolerance lets pass.
"""

import torch
from torchrl.objectives.value.functional import (
    generalized_advantage_estimate,
    vec_generalized_advantage_estimate,
)

from baselines.benchmarks import gae
from baselines.contract import protocol
from baselines.inputs.gae import GaeArrays

_PATHS = {"loop": generalized_advantage_estimate, "vectorised": vec_generalized_advantage_estimate}


def preparation(path: str) -> gae.Prepare:
    """How the given path, `loop` or `vectorised`, prepares its call."""
    estimate = _PATHS[path]

    def prepare(arrays: GaeArrays) -> gae.Call:
        """The call that is timed: TorchRL's own layout (..., length, 1), built outside the clock."""
        rewards, values, dones = (torch.from_numpy(array).unsqueeze(-1) for array in arrays)
        ended = dones.bool()
        next_values = torch.full_like(values, gae.LAST_VALUE)
        next_values[..., :-1, :] = values[..., 1:, :]
        return lambda gamma: estimate(gamma, gae.LAMBDA, values, next_values, rewards, ended, ended)

    return prepare


def main() -> None:
    """Serve the cases without autograd, which TorchRL's own modules switch off too."""
    parser = protocol.parser(__doc__)
    parser.add_argument("path", choices=_PATHS, help="which of TorchRL's two functions")
    options = parser.parse_args()
    torch.set_num_threads(protocol.threads())
    # TorchRL multiplies gamma by integer flags, which gives the default type: f32 would round gamma here.
    torch.set_default_dtype(torch.float64)
    with torch.inference_mode():
        gae.run(options, preparation(options.path))


if __name__ == "__main__":
    main()
