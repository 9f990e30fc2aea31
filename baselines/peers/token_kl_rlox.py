"""`token-kl` by rlox 1.2.0, through its Python module: one call, whatever the number of sequences.

Its estimator k3 has the two policies the other way round than TRL's, so they change places in the call.
"""

import rlox

from baselines.benchmarks import token_kl
from baselines.contract import protocol


def prepare(parameters: token_kl.Parameters) -> token_kl.Call:
    """The call that is timed: of one sequence, or of several end to end."""
    if parameters.batch == 1:
        exact, k3 = rlox.compute_token_kl, rlox.compute_token_kl_schulman_f32
    else:
        exact, k3 = rlox.compute_batch_token_kl, rlox.compute_batch_token_kl_schulman_f32
    length = () if parameters.batch == 1 else (parameters.length,)
    if parameters.k3:
        return lambda policy, reference: k3(reference, policy, *length)
    return lambda policy, reference: exact(policy, reference, *length)


COURSE = token_kl.Course(prepare=prepare, laid_out=lambda array: array.reshape(-1))

if __name__ == "__main__":
    token_kl.run(protocol.parser(__doc__).parse_args(), COURSE)
