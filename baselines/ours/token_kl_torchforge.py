"""`token-kl` by the Rust kernels as a Python user gets them: the module `torchforge`, NumPy arrays in and out."""

import torchforge

from baselines.benchmarks import token_kl
from baselines.contract import protocol

COURSE = token_kl.Course(
    prepare=token_kl.either(exact=torchforge.token_kl, k3=torchforge.token_kl_k3),
    laid_out=token_kl.one_axis_of_one,
)

if __name__ == "__main__":
    token_kl.run(protocol.parser(__doc__).parse_args(), COURSE)
