"""Tensors of other libraries in, arrays out. Run: python -m unittest discover -s tests (with torchforge importable)."""

import tempfile
import unittest
from pathlib import Path

import numpy as np
import torchforge

CPU, CUDA = 1, 2


class Tensor:
    """What another library has: memory that DLPack says, and nothing of NumPy."""

    def __init__(self, array, device=(CPU, 0), refusal=None):
        self.array, self.device, self.refusal = array, device, refusal

    def __repr__(self):
        return f"Tensor({self.array.shape})"

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **_):
        if self.refusal:
            raise BufferError(self.refusal)
        return self.array.__dlpack__()


def estimates(shape):
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape), rng.standard_normal(shape), (rng.random(shape) > 0.9).astype(float)]


class In(unittest.TestCase):
    def test_tensors_give_what_their_arrays_give(self):
        few, many = estimates(16), estimates((4, 10_000))
        for arrays, last, call in (
            (few, 0.5, torchforge.compute_gae),
            (many, np.ones(4), torchforge.compute_gae_batched),
        ):
            lent = [Tensor(array) for array in arrays]
            found = call(*lent, last, 0.99, 0.95)
            np.testing.assert_array_equal(found, call(*arrays, last, 0.99, 0.95))
        rewards, policy, reference = many
        np.testing.assert_array_equal(
            torchforge.group_advantages(Tensor(rewards)), torchforge.group_advantages(rewards)
        )
        self.assertEqual(
            torchforge.compute_gae_batched(*many, Tensor(np.ones(4)), 0.99, 0.95)[0].shape, rewards.shape
        )
        for divergence in (
            torchforge.token_kl,
            torchforge.token_kl_k1,
            torchforge.token_kl_k2,
            torchforge.token_kl_k3,
        ):
            wanted = divergence(policy, reference)
            for pair in (
                (Tensor(policy), reference),
                (policy, Tensor(reference)),
                (Tensor(policy), Tensor(reference)),
            ):
                np.testing.assert_array_equal(divergence(*pair), wanted)

    def test_a_tensor_is_read_anew_by_each_call(self):
        memory = np.zeros(4)
        tensor = Tensor(memory)
        self.assertEqual(torchforge.token_kl_k1(tensor, np.zeros(4)), 0.0)
        memory[2] = 3.0
        self.assertEqual(torchforge.token_kl_k1(tensor, np.zeros(4)), 3.0)

    def test_buffers_environments_and_files_take_tensors(self):
        buffer = torchforge.PrioritisedReplayBuffer(8, 3)
        row = np.arange(3, dtype=np.float32)
        buffer.push(Tensor(row), Tensor(row + 1), Tensor(row[:1] + 5), 1.0, False, False)
        drawn = buffer.sample(1)
        self.assertEqual(drawn.transitions.observations.tolist(), [[0, 1, 2]])
        self.assertEqual(drawn.transitions.actions.tolist(), [[5]])
        self.assertEqual(buffer.update_priorities(drawn, Tensor(np.ones(1, np.float32))), 0)
        environments = torchforge.make_vec("CartPole-v1", 2, autoreset_mode="Disabled")
        environments.reset(seed=1)
        actions = np.array([0, 1])
        first = environments.step(Tensor(actions))[0]
        environments.reset(seed=1)
        np.testing.assert_array_equal(environments.step(actions)[0], first)
        environments.reset(reset_mask=Tensor(np.array([True, False])))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.arrow"
            torchforge.write_dataset(path, {"row": Tensor(np.arange(6.0).reshape(3, 2))})
            loader = torchforge.DataLoader(torchforge.MmapDataset(path), 3)
            self.assertEqual(next(iter(loader))["row"].tolist(), [[0, 1], [2, 3], [4, 5]])

    def test_what_cannot_be_shared_is_refused_by_name(self):
        ones = np.ones(4)
        for tensor, said in (
            (Tensor(ones, device=(CUDA, 1)), r"cannot be shared \(it lies on DLPack's device \(2, 1\)\)"),
            (
                Tensor(ones, refusal="it requires grad"),
                r"reference is Tensor\(\(4,\)\) whose memory cannot be shared \(it requires grad\); give .* such as "
                r"reference.detach\(\).cpu\(\)",
            ),
            (Tensor(ones.astype(int)), "reference is not a NumPy array of float64 but one of int64"),
            (Tensor(np.ones(8)[::2]), "reference is not C-contiguous"),
            (Tensor(np.ones(5)), r"reference has shape \[5\]"),
        ):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                torchforge.token_kl(ones, tensor)
        with self.assertRaisesRegex(ValueError, "out is not a NumPy array of float64 but Tensor"):
            torchforge.group_advantages(np.ones((2, 2)), out=Tensor(np.ones((2, 2))))


class Out(unittest.TestCase):
    def test_everything_that_is_returned_says_its_memory(self):
        buffer = torchforge.ReplayBuffer(4, 3)
        row = np.zeros(3, np.float32)
        buffer.push(row, row, 0.0, 0.0, False, False)
        environments = torchforge.make_vec("CartPole-v1", 2)
        seen, _ = environments.reset(seed=1)
        for array in (
            *torchforge.compute_gae(*estimates(16), 0.0, 0.99, 0.95),
            *torchforge.compute_gae(*estimates(10_000), 0.0, 0.99, 0.95),
            torchforge.group_advantages(np.ones((2, 2))),
            torchforge.token_kl_k2(np.ones((2, 2)), np.zeros((2, 2))),
            buffer.sample(2).observations,
            buffer.sample(2).rewards,
            seen,
            environments.step(np.array([0, 1]))[1],
        ):
            self.assertEqual(array.__dlpack_device__(), (CPU, 0))
            shared = np.from_dlpack(array)
            self.assertTrue(np.shares_memory(shared, array))


if __name__ == "__main__":
    unittest.main()
