"""`token-kl` by the Rust kernels as a Python user gets them: the module `torchforge`, NumPy arrays in and out."""

import torchforge

from baselines.benchmarks import token_kl
from baselines.contract import protocol

COURSE = token_kl.Course(
    prepare=token_kl.either(exact=torchforge.token_kl, k3=torchforge.token_kl_k3),
    # One sequence has one axis.
    laid_out=lambda array: array[0] if len(array) == 1 else array,
)

if __name__ == "__main__":
    token_kl.run(protocol.parser(__doc__).parse_args(), COURSE)
