"""The package and PyTorch's tensors, which share memory by DLPack: runs inside the image."""

import resource

import numpy as np
import pytest
import torch
import torchforge


def test_results_and_minibatches_are_tensors_without_a_copy() -> None:
    buffer = torchforge.ReplayBuffer(4, 3)
    row = np.zeros(3, np.float32)
    buffer.push(row, row, 0.0, 1.0, False, False)
    for array in (
        *torchforge.compute_gae(np.ones(8), np.ones(8), np.zeros(8), 0.0, 0.99, 0.95),
        torchforge.token_kl_k3(np.ones((2, 2)), np.ones((2, 2))),
        buffer.sample(2).observations,
        buffer.sample(2).rewards,
    ):
        tensor = torch.from_dlpack(array)
        tensor[0] = 7.0
        assert (array[0] == 7.0).all()


def test_tensors_are_read_where_they_lie() -> None:
    policy = torch.zeros(1, 1 << 25, dtype=torch.float64)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    policy[0, 1] = 2.0
    assert torchforge.token_kl_k1(policy, policy) == [0.0]
    grown_kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kibibytes < policy.nbytes / 1024 / 4, "a copy of 256 MiB"


def test_each_kind_of_argument_may_be_a_tensor() -> None:
    draw = np.random.default_rng(1)
    rewards, values = draw.standard_normal((2, 4, 100))
    arrays = [rewards, values, (draw.random((4, 100)) > 0.9).astype(np.float64), np.ones(4)]
    found = torchforge.compute_gae_batched(*map(torch.from_numpy, arrays), 0.99, 0.95)
    np.testing.assert_array_equal(found, torchforge.compute_gae_batched(*arrays, 0.99, 0.95))
    buffer = torchforge.PrioritisedReplayBuffer(4, 3)
    row = torch.arange(3.0)
    buffer.push(row, row + 1, torch.tensor(1.0), torch.tensor(2.0), False, False)
    drawn = buffer.sample(2)
    assert drawn.transitions.next_observations.tolist() == [[1, 2, 3]] * 2
    assert buffer.update_priorities(drawn, torch.ones(2)) == 0
    environments = torchforge.make_vec("CartPole-v1", 2)
    environments.reset(seed=1)
    environments.step(torch.tensor([0, 1]))


@pytest.mark.parametrize(
    ("tensor", "said"),
    [
        (
            torch.ones(4, dtype=torch.float64, requires_grad=True),
            r"requires? grad.*; give .* such as policy\.detach\(\)",
        ),
        (torch.ones(4, dtype=torch.float64, device="meta"), "memory cannot be shared"),
        (torch.ones(4, dtype=torch.bfloat16), "memory cannot be shared"),
        (torch.ones(4, dtype=torch.float32), "policy is not a NumPy array of float64 but one of float32"),
        (torch.ones(4, 2, dtype=torch.float64)[:, 0], "policy is not C-contiguous"),
    ],
)
def test_a_tensor_that_cannot_be_read_is_named(tensor: torch.Tensor, said: str) -> None:
    with pytest.raises(ValueError, match=rf"(?s)policy is .*{said.removeprefix('policy is ')}"):
        torchforge.token_kl(tensor, np.ones(4))
