"""The oracle of `torchforge` beside PyTorch, both in double precision. Needs torch: runs inside the image."""

import subprocess
from pathlib import Path

import pytest
import torch
from safetensors.numpy import save_file
from safetensors.torch import load_file

from baselines.benchmarks.training_in_pytorch import in_double_precision
from baselines.inputs.parity import dqn_arrays, ppo_arrays, sac_arrays
from baselines.references import dqn, ppo, sac

ALGORITHMS = {
    "dqn": (dqn.consecutive_updates, lambda: dqn_arrays("CartPole-v1", 42)),
    "ppo": (ppo.consecutive_updates, lambda: ppo_arrays(42)),
    "sac": (sac.consecutive_updates, lambda: sac_arrays(42)),
}
# Two texts of one mathematics differ by rounding alone: 5e-15 was seen.
LARGEST = 1e-10


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_oracles_update_is_pytorchs_in_double_precision(algorithm: str, tmp_path: Path) -> None:
    consecutive_updates, make_arrays = ALGORITHMS[algorithm]
    arrays = make_arrays()
    given, update = tmp_path / "parity.safetensors", tmp_path / "update.safetensors"
    save_file(dict(arrays), given)
    subprocess.run(["torchforge", "oracle", algorithm, given, update], check=True)
    found = load_file(update)

    torch.set_num_threads(1)
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    wanted = consecutive_updates(in_double_precision(tensors), 1)
    wanted = {name: tensor for name, tensor in wanted.items() if not name.startswith("after.")}
    assert found.keys() == wanted.keys()
    for name, tensor in wanted.items():
        assert found[name].dtype == torch.float64
        apart = (found[name] - tensor).abs().max()
        assert apart <= LARGEST * tensor.abs().max(), f"{name}: {apart}"
