"""Arrays of many values are not zeroed before they are written, so each has to be written whole.

Memory that held NaN is given back before each call, and the allocator hands it out again.
"""

import unittest
from functools import partial

import numpy as np
import torchforge

LONG = 1 << 16


def after_nan(call):
    """What a call returns whose new arrays lie where NaN lay."""
    for values in (LONG, 2 * LONG, 4 * LONG):
        np.full(values, np.nan)
    return call()


class LongResults(unittest.TestCase):
    """A new array holds what is written into a given one."""

    def test_advantages_of_a_trajectory(self):
        rewards, values = np.random.default_rng(1).standard_normal((2, LONG))
        arrays = (rewards, values, np.zeros(LONG), 0.5, 0.99, 0.95)
        given = (np.zeros(LONG), np.zeros(LONG))
        torchforge.compute_gae(*arrays, out=given)
        for new, written in zip(after_nan(lambda: torchforge.compute_gae(*arrays)), given, strict=True):
            np.testing.assert_array_equal(new, written)

    def test_advantages_of_groups(self):
        # Sizes that are divided as whole vectors, with a rest, and as a rest alone.
        for size in (2, 3, 4, 8, 13, 16, 32):
            with self.subTest(size=size):
                rewards = np.random.default_rng(size).standard_normal((LONG // size, size))
                given = np.zeros(rewards.shape)
                torchforge.group_advantages(rewards, out=given)
                np.testing.assert_array_equal(after_nan(partial(torchforge.group_advantages, rewards)), given)

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
