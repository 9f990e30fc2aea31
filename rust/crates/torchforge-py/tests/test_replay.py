"""The replay buffer. Run: python -m unittest discover -s tests (with torchforge importable)."""

import tempfile
import unittest
from functools import partial
from pathlib import Path

import numpy as np
import torchforge

WIDTH = 3


def observation(row):
    return np.full(WIDTH, row, np.float32)


def filled(capacity=100, pushes=100, **options):
    buffer = torchforge.ReplayBuffer(capacity, WIDTH, **options)
    for row in range(pushes):
        buffer.push(observation(row), observation(row + 1), -row, row / 2, row % 3 == 0, row % 3 == 1)
    return buffer


def several(rows):
    """The arguments of `extend` that are as so many calls of `push` in `filled`."""
    numbers = np.arange(rows, dtype=np.float32)
    observations = np.repeat(numbers[:, None], WIDTH, axis=1)
    flags = numbers % 3 == 0, numbers % 3 == 1
    return [observations, observations + 1, -numbers[:, None], numbers / 2, *flags]


class ReplayBuffer(unittest.TestCase):
    def test_what_is_drawn_was_pushed_whole(self):
        drawn = filled().sample(64)
        self.assertEqual(len(drawn), 64)
        rows = drawn.observations[:, 0]
        self.assertGreater(len(set(rows.tolist())), 20)
        np.testing.assert_array_equal(drawn.observations, np.repeat(rows[:, None], WIDTH, axis=1))
        np.testing.assert_array_equal(drawn.next_observations, drawn.observations + 1)
        np.testing.assert_array_equal(drawn.actions[:, 0], -rows)
        np.testing.assert_array_equal(drawn.rewards, rows / 2)
        np.testing.assert_array_equal(drawn.terminated, rows % 3 == 0)
        np.testing.assert_array_equal(drawn.truncated, rows % 3 == 1)
        fields = ("observations", "next_observations", "actions", "rewards", "terminated", "truncated")
        whole = np.concatenate([getattr(drawn, field).ravel() for field in fields])
        np.testing.assert_array_equal(drawn.values, whole)

    def test_a_row_of_any_width_is_kept_whole(self):
        # One value, few values and many are read in three ways.
        for width in (1, 2, 512, 513):
            buffer = torchforge.ReplayBuffer(4, width, width)
            fields = [np.arange(width, dtype=np.float32) + first for first in (0, 1000, 2000)]
            buffer.push(*fields, 0.5, False, True)
            kept = buffer.rows(0, 1)
            for found, wanted in zip(kept[:3], fields, strict=True):
                np.testing.assert_array_equal(found, wanted[None])

    def test_many_at_once_are_kept_as_one_by_one(self):
        # With 6,000 other threads may run.
        for rows, capacity in ((0, 10), (14, 10), (14, 20), (6000, 5000)):
            many, one = torchforge.ReplayBuffer(capacity, WIDTH), filled(capacity, rows)
            many.extend(*several(rows))
            self.assertEqual(len(many), len(one))
            for found, wanted in zip(many.rows(0, len(many)), one.rows(0, len(one)), strict=True):
                np.testing.assert_array_equal(found, wanted)

    def test_many_of_which_one_does_not_fit_are_all_refused(self):
        buffer, good = filled(capacity=10, pushes=2), several(4)
        several_flags = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
        for place, wrong, said in (
            (0, good[0][:3], r"observations has shape \[3, 3\] and must have \[4, 3\]"),
            (1, good[1][0], r"next_observations has shape \[3\] and must have \[4, 3\]"),
            (1, good[1].astype(np.float64), "next_observations is not a NumPy array of float32"),
            (2, good[2][:, 0], r"actions has shape \[4\] and must have \[4, 1\]"),
            (2, np.array([[0], [0], [np.nan], [0]], np.float32), r"actions\[2, 0\] is nan"),
            (3, np.array([0, 0, 0, np.inf], np.float32), r"rewards\[3\] is inf and must be a finite number"),
            (3, good[0], r"rewards has shape \[4, 3\] and must have \[12\]"),
            (4, good[4].astype(np.uint8), "terminated is not a NumPy array of bool"),
            (5, good[5][:3], r"truncated has shape \[3\] and must have \[4\]"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                buffer.extend(*good[:place], wrong, *good[place + 1 :])
        self.assertEqual(len(buffer), 2)
        buffer.extend(*good[:4], several_flags, several_flags)
        self.assertEqual(buffer.rows(2, 6)[4].tolist(), [0, 1, 1, 1], "any byte but 0 is true")

    def test_a_full_ring_keeps_the_latest(self):
        buffer = filled(capacity=10, pushes=14)
        self.assertEqual((len(buffer), buffer.capacity), (10, 10))
        rows = buffer.rows(0, 10)[0][:, 0]
        self.assertEqual(rows.tolist(), [10, 11, 12, 13, 4, 5, 6, 7, 8, 9])

    def test_frames_are_kept_as_bytes(self):
        width = 84 * 84
        frames = np.random.default_rng(1).integers(0, 256, (13, width), np.uint8)
        actions, rewards = np.zeros((12, 1), np.float32), np.arange(12, dtype=np.float32)
        flags = np.zeros(12, np.bool_)
        for dtype in ("uint8", np.uint8, np.dtype("u1")):
            buffer = torchforge.ReplayBuffer(10, width, observation_dtype=dtype, seed=3)
            self.assertEqual(buffer.observation_dtype, np.uint8)
            buffer.push(frames[0], frames[1], 0.0, 0.0, False, False)
            buffer.extend(frames[1:12], frames[2:], actions[1:], rewards[1:], flags[1:], flags[1:])
            drawn = buffer.sample(32)
            rows = drawn.rewards.astype(int)
            self.assertEqual((drawn.observations.dtype, drawn.observations.shape), (np.uint8, (32, width)))
            np.testing.assert_array_equal(drawn.observations, frames[rows])
            np.testing.assert_array_equal(drawn.next_observations, frames[rows + 1])
            fields = ("actions", "rewards", "terminated", "truncated")
            whole = np.concatenate([getattr(drawn, field).ravel() for field in fields])
            np.testing.assert_array_equal(drawn.values, whole)
            held = buffer.rows(0, 10)
            np.testing.assert_array_equal(held[0], frames[held[3].astype(int)])
            view = drawn.observations
            self.assertIs(buffer.sample(32, out=drawn), drawn)
            np.testing.assert_array_equal(view, frames[drawn.rewards.astype(int)])

    def test_observations_of_another_type_are_refused(self):
        buffer = torchforge.ReplayBuffer(4, WIDTH, observation_dtype="uint8")
        with self.assertRaisesRegex(ValueError, "observation is not a NumPy array of uint8"):
            buffer.push(observation(0), observation(1), 0.0, 0.0, False, False)
        self.assertEqual(len(buffer), 0)
        self.assertEqual(filled().observation_dtype, np.float32)
        frame = np.zeros(WIDTH, np.uint8)
        buffer.push(frame, frame, 0.0, 0.0, False, False)
        with self.assertRaisesRegex(
            ValueError,
            r"out is a minibatch of 2 transitions of 3 \+ 1 values and must be of 2 of 3 \(uint8\)",
        ):
            buffer.sample(2, out=filled().sample(2))
        for wrong in ("float64", ">f4", "no dtype", 3):
            with self.assertRaisesRegex(
                ValueError, 'observation_dtype is .* and must be "float32" or "uint8"'
            ):
                torchforge.ReplayBuffer(4, WIDTH, observation_dtype=wrong)

    def test_every_ring_draws_the_same_of_bytes_as_of_float32(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            for name, make, drawn in (
                ("sequences", partial(torchforge.SequenceReplayBuffer, 50, WIDTH, length=4), 32),
                ("prioritised", partial(torchforge.PrioritisedReplayBuffer, 50, WIDTH, steps=3), 32),
                ("disk", partial(torchforge.DiskReplayBuffer.create, path / "ring", 50, WIDTH), 32),
            ):
                with self.subTest(name):
                    of_type = {}
                    for dtype in (np.float32, np.uint8):
                        buffer = make(observation_dtype=dtype, seed=2)
                        arguments = several(70)
                        arguments[:2] = (each.astype(dtype) for each in arguments[:2])
                        arguments[4][:], arguments[5][:] = False, np.arange(70) % 9 == 8
                        buffer.extend(*arguments)
                        batch = buffer.sample(drawn)
                        batch = getattr(batch, "transitions", batch)
                        self.assertEqual(batch.observations.dtype, dtype)
                        of_type[dtype] = batch
                        if name == "disk":
                            buffer.close()
                            with torchforge.DiskReplayBuffer.open(path / "ring") as opened:
                                self.assertEqual(opened.observation_dtype, dtype)
                                self.assertGreaterEqual(len(opened), 50)
                    for field in ("observations", "next_observations", "actions", "rewards", "truncated"):
                        floats, frames = (getattr(of_type[each], field) for each in (np.float32, np.uint8))
                        np.testing.assert_array_equal(floats, frames)

    def test_a_seed_repeats_the_draws(self):
        buffer = filled(seed=5)
        first, second = buffer.sample(32).rewards, buffer.sample(32).rewards
        buffer.seed(5)
        np.testing.assert_array_equal(buffer.sample(32).rewards, first)
        np.testing.assert_array_equal(filled(seed=5).sample(32).rewards, first)
        self.assertFalse(np.array_equal(first, second))

    def test_out_is_written_where_it_lies(self):
        buffer = filled(seed=5)
        out = buffer.sample(32)
        views = out.observations, out.rewards
        self.assertIs(buffer.sample(32, out=out), out)
        buffer.seed(5)
        buffer.sample(32)
        again = buffer.sample(32)
        for view, drawn in zip(views, (again.observations, again.rewards), strict=True):
            np.testing.assert_array_equal(view, drawn)
        self.assertTrue(np.shares_memory(views[0], out.observations))

    def test_an_action_has_several_values_or_is_a_number(self):
        buffer = torchforge.ReplayBuffer(4, WIDTH, 2)
        buffer.push(observation(0), observation(1), np.array([1, 2], np.float32), 0.0, False, False)
        self.assertEqual(buffer.sample(1).actions.tolist(), [[1, 2]])
        with self.assertRaisesRegex(ValueError, "action is not a NumPy array of float32"):
            buffer.push(observation(0), observation(1), 1.0, 0.0, False, False)

    def test_what_does_not_fit_is_named_and_changes_nothing(self):
        buffer = filled(capacity=10, pushes=2)
        good = [observation(0), observation(1), 0.0, 0.0, False, False]
        for place, wrong, said in (
            (0, np.ones(WIDTH + 1, np.float32), r"observation has shape \[4\] and must have \[3\]"),
            (1, np.ones(WIDTH), "next_observation is not a NumPy array of float32"),
            (2, np.ones(2, np.float32), r"action has shape \[2\]"),
            (2, np.nan, "action is nan and must be a finite number"),
            (2, np.array([np.nan], np.float32), r"action\[0\] is nan"),
            (3, np.nan, "reward is nan and must be a finite number"),
            (3, 1e39, r"reward is 1e\+39 and must be a finite number"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                buffer.push(*good[:place], wrong, *good[place + 1 :])
        for place, wrong, said in (
            (3, "1", "reward is '1' and must be a number"),
            (4, 1, "terminated is 1 and must be True or False"),
            (5, None, "truncated is None and must be True or False"),
        ):
            with self.assertRaisesRegex(TypeError, said):
                buffer.push(*good[:place], wrong, *good[place + 1 :])
        self.assertEqual(len(buffer), 2)
        for size in (1 << 50, 1 << 62):
            with self.assertRaisesRegex(MemoryError, f"batch_size is {size}, for which there is no memory"):
                buffer.sample(size)
        out = buffer.sample(2)
        with self.assertRaisesRegex(ValueError, "out is a minibatch of 2 transitions .* must be of 3"):
            buffer.sample(3, out=out)
        with self.assertRaisesRegex(ValueError, "push a transition before sampling"):
            torchforge.ReplayBuffer(4, WIDTH).sample(1)
        with self.assertRaisesRegex(ValueError, "batch_size is 0 and must be a whole number from 1"):
            buffer.sample(0)
        with self.assertRaisesRegex(TypeError, "capacity is True and must be a whole number"):
            torchforge.ReplayBuffer(True, WIDTH)
        with self.assertRaisesRegex(ValueError, "capacity is -1"):
            torchforge.ReplayBuffer(-1, WIDTH)
        with self.assertRaisesRegex(ValueError, "there is no memory for"):
            torchforge.ReplayBuffer(2**60, WIDTH)
        with self.assertRaisesRegex(ValueError, "stop is 3 and must be a whole number from 1 to 2"):
            buffer.rows(1, 3)


if __name__ == "__main__":
    unittest.main()
