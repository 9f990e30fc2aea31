"""New arrays are not zeroed before they are written, so each has to be written whole.

Memory that held NaN is given back before each call, and the allocator hands it out again.
"""

import unittest
from functools import partial
from itertools import product

import numpy as np
import torchforge

LONG = 1 << 16
# Few values are read in place, many are borrowed, and the memory of many is taken by NumPy's own function.
LENGTHS = (16, 512, 4096, LONG)


def after_nan(call, length=LONG):
    """What a call returns whose new arrays, of about so many values, lie where NaN lay."""
    for values in (length, 2 * length, 4 * length):
        # Two, because a call may return two arrays.
        both = [np.full(values, np.nan) for _ in range(2)]
        del both
    return call()


class NewResults(unittest.TestCase):
    """A new array holds what is written into a given one."""

    def test_advantages_of_a_trajectory(self):
        for length in LENGTHS:
            with self.subTest(length=length):
                rewards, values = np.random.default_rng(1).standard_normal((2, length))
                arrays = (rewards, values, np.zeros(length), 0.5, 0.99, 0.95)
                given = (np.zeros(length), np.zeros(length))
                torchforge.compute_gae(*arrays, out=given)
                found = after_nan(partial(torchforge.compute_gae, *arrays), length)
                for new, written in zip(found, given, strict=True):
                    np.testing.assert_array_equal(new, written)

    def test_advantages_of_trajectories(self):
        for length in LENGTHS:
            with self.subTest(length=length):
                rewards, values = np.random.default_rng(1).standard_normal((2, 8, length // 8))
                arrays = (rewards, values, np.zeros(rewards.shape), np.zeros(8), 0.99, 0.95)
                given = (np.zeros(rewards.shape), np.zeros(rewards.shape))
                torchforge.compute_gae_batched(*arrays, out=given)
                found = after_nan(partial(torchforge.compute_gae_batched, *arrays), length)
                for new, written in zip(found, given, strict=True):
                    np.testing.assert_array_equal(new, written)

    def test_advantages_of_groups(self):
        # Groups of a multiple of four are computed by fours, and the rest by themselves.
        for size, length in product((2, 3, 4, 8, 12, 13, 16, 32), LENGTHS):
            with self.subTest(size=size, length=length):
                rewards = np.random.default_rng(size).standard_normal((length // size, size))
                given = np.zeros(rewards.shape)
                torchforge.group_advantages(rewards, out=given)
                found = after_nan(partial(torchforge.group_advantages, rewards), length)
                np.testing.assert_array_equal(found, given)

    def test_divergences_of_sequences(self):
        for sequences in (1, 16, 512, 4096):
            with self.subTest(sequences=sequences):
                policy, reference = -np.random.default_rng(1).random((2, sequences, 4))
                given = np.zeros(sequences)
                torchforge.token_kl(policy, reference, out=given)
                found = after_nan(partial(torchforge.token_kl, policy, reference), sequences)
                np.testing.assert_array_equal(found, given)

    def test_a_rollout(self):
        steps, n = LONG // 64, 64
        actions = np.random.default_rng(1).integers(2, size=(steps, n))
        given = (
            np.zeros((steps, n, 4), np.float32),
            np.zeros((steps, n)),
            np.zeros((steps, n), np.bool_),
            np.zeros((steps, n), np.bool_),
        )
        into, new = (torchforge.make_vec("CartPole-v1", n, "SameStep") for _ in range(2))
        into.reset(seed=1)
        new.reset(seed=1)
        into.collect(actions, out=given)
        found, *_ = after_nan(lambda: new.collect(actions))
        for array, written in zip(found, given, strict=True):
            np.testing.assert_array_equal(array, written)
            self.assertEqual(array.dtype, written.dtype)

    def test_a_minibatch_of_frames(self):
        for dtype in ("uint8", "float32"):
            with self.subTest(dtype=dtype):
                ring = torchforge.ReplayBuffer(8, 4096, observation_dtype=dtype, seed=1)
                for number in range(8):
                    frame = np.full(4096, number, dtype)
                    ring.push(frame, frame, 0, 1.0, terminated=False, truncated=False)
                minibatch = after_nan(partial(ring.sample, 64))
                seen = np.asarray(minibatch.observations)
                self.assertTrue((seen == seen[:, :1]).all())
                self.assertTrue((np.asarray(minibatch.next_observations) == seen).all())
                np.testing.assert_array_equal(minibatch.rewards, np.ones(64, np.float32))
                np.testing.assert_array_equal(minibatch.terminated, np.zeros(64, np.float32))
                np.testing.assert_array_equal(minibatch.truncated, np.zeros(64, np.float32))


if __name__ == "__main__":
    unittest.main()
