"""Generators of the input files: started like an implementation, they write DIR/<case>/<file>.

    python3 -m baselines.inputs gae --case T=8 --parameters '{"batch":1,"length":8}' --seed 42 --output DIR

The same bytes on every machine: NumPy's PCG64 and its samplers alone, and file formats without a time stamp.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from baselines.contract import protocol
from baselines.inputs import calls, env_step, gae, machine, post_training, rows, trainings, transitions

# A generator reads the parameters that its data depend on and lets the others be: it is handed the same
# object as an implementation, with or without the profile's part.
_WRITERS: Mapping[str, Callable[[Mapping[str, Any], int, Path], None]] = {
    "gae": gae.write,
    "grpo": post_training.write_grpo,
    "token-kl": post_training.write_token_kl,
    "buffer-push": transitions.write_push,
    "buffer-sample": transitions.write_sample,
    "calls": calls.write,
    "env-single": env_step.write_single,
    "replay": transitions.write_sample,
    "sequences": transitions.write_sequences,
    "loader": rows.write,
    "format": rows.write,
    "env-step": env_step.write,
    "env-vector": env_step.write_vector,
    "rollout": env_step.write_rollout,
    "dqn": trainings.write_dqn,
    "ppo": trainings.write_ppo,
    "sac": trainings.write_sac,
    "update": trainings.write_update,
    "act": trainings.write_dqn,
    "nn-act": trainings.write_networks,
    "nn-step": trainings.write_networks,
    "multiply": machine.write_multiply,
    "copy": machine.write_copy,
}


def main() -> None:
    """Write the input files of every case named."""
    parser = protocol.parser(__doc__, refereed=False)
    parser.add_argument("benchmark", choices=_WRITERS, help="whose input files to make")
    options = parser.parse_args()
    request = protocol.request(options)
    if not request.cases or request.output_directory is None:
        protocol.refuse("--case and --output are needed; name a case and the directory to write to")
    for case in request.cases:
        directory = protocol.made_directory(request.output_directory / case.name)
        _WRITERS[options.benchmark](case.parameters, request.seed, directory)


if __name__ == "__main__":
    main()
