"""The replay buffer of sequences. Run: python -m unittest discover -s tests (with torchforge importable)."""

import unittest

import numpy as np
import torchforge

WIDTH = 3


def observation(row):
    return np.full(WIDTH, row, np.float32)


def filled(pushes=20, capacity=20, ends=(), length=4, **options):
    """Transition i has the reward i, and ends its episode where it is among `ends`."""
    buffer = torchforge.SequenceReplayBuffer(capacity, WIDTH, length=length, **options)
    for row in range(pushes):
        buffer.push(observation(row), observation(row + 0.5), -row, row, row in ends, False)
    return buffer


def steps(batch, length=4):
    """The numbers of the transitions, a sequence a row."""
    return batch.rewards.reshape(-1, length).astype(int)


class SequenceReplayBuffer(unittest.TestCase):
    def test_what_is_drawn_was_pushed_whole(self):
        drawn = filled().sample(64)
        self.assertEqual(len(drawn), 64)
        rows = drawn.rewards
        np.testing.assert_array_equal(drawn.observations, np.repeat(rows[:, None], WIDTH, axis=1))
        np.testing.assert_array_equal(drawn.next_observations, drawn.observations + 0.5)
        np.testing.assert_array_equal(drawn.actions[:, 0], -rows)

    def test_sequences_are_consecutive_steps_of_one_episode_and_each_is_drawn(self):
        # The ring holds 10 to 29: whole sequences of four begin in 10 to 12 and in 16 to 26.
        buffer = filled(pushes=30, ends=(15,))
        drawn = steps(buffer.sample(4 * 1000))
        np.testing.assert_array_equal(drawn, drawn[:, :1] + np.arange(4))
        self.assertEqual(set(drawn[:, 0].tolist()), {*range(10, 13), *range(16, 27)})
        self.assertEqual(buffer.sequences, 14)
        self.assertEqual((len(buffer), buffer.capacity, buffer.length), (20, 20, 4))

    def test_a_cut_off_episode_ends_its_sequences_too(self):
        buffer = torchforge.SequenceReplayBuffer(8, WIDTH, length=2)
        for row in range(4):
            buffer.push(observation(row), observation(row), 0, row, False, row == 1)
        self.assertEqual(set(steps(buffer.sample(200), 2)[:, 0].tolist()), {0, 2})

    def test_many_steps_at_once_are_kept_as_one_by_one(self):
        numbers = np.arange(30, dtype=np.float32)
        many = torchforge.SequenceReplayBuffer(20, WIDTH, length=4, seed=3)
        rows = np.repeat(numbers[:, None], WIDTH, axis=1)
        many.extend(
            rows, rows + 0.5, -numbers[:, None], numbers, np.isin(numbers, (15, 22)), np.zeros(30, np.bool_)
        )
        one = filled(pushes=30, ends=(15, 22), seed=3)
        self.assertEqual((len(many), many.sequences), (len(one), one.sequences))
        np.testing.assert_array_equal(many.sample(400).values, one.sample(400).values)

    def test_a_seed_repeats_the_draws(self):
        buffer = filled(seed=5)
        first, second = steps(buffer.sample(64)).tolist(), steps(buffer.sample(64)).tolist()
        buffer.seed(5)
        self.assertEqual(steps(buffer.sample(64)).tolist(), first)
        self.assertEqual(steps(filled(seed=5).sample(64)).tolist(), first)
        self.assertNotEqual(first, second)

    def test_out_is_written_where_it_lies(self):
        buffer = filled(seed=5)
        out = buffer.sample(32)
        view = out.observations
        self.assertIs(buffer.sample(32, out=out), out)
        buffer.seed(5)
        buffer.sample(32)
        np.testing.assert_array_equal(view, buffer.sample(32).observations)
        self.assertTrue(np.shares_memory(view, out.observations))

    def test_what_does_not_fit_is_named_and_changes_nothing(self):
        buffer = filled(pushes=5, seed=5)
        good = [observation(0), observation(1), 0.0, 0.0, False, False]
        for place, wrong, said in (
            (0, np.ones(WIDTH + 1, np.float32), r"observation has shape \[4\] and must have \[3\]"),
            (2, np.nan, "action is nan and must be a finite number"),
            (3, np.inf, "reward is inf and must be a finite number"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                buffer.push(*good[:place], wrong, *good[place + 1 :])
        with self.assertRaisesRegex(TypeError, "truncated is 1 and must be True or False"):
            buffer.push(*good[:5], 1)
        out = buffer.sample(8)
        before = out.values.copy()
        for size, said in (
            (6, "batch_size is 6 and must be a multiple of length, which is 4"),
            (4, "out is a minibatch of 8 transitions .* must be of 4"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                buffer.sample(size, out=out)
        np.testing.assert_array_equal(out.values, before)
        self.assertEqual((len(buffer), buffer.sequences), (5, 2))
        again = filled(pushes=5, seed=5)
        again.sample(8)
        np.testing.assert_array_equal(buffer.sample(8).values, again.sample(8).values)
        with self.assertRaisesRegex(MemoryError, f"batch_size is {1 << 50}, for which there is no memory"):
            buffer.sample(1 << 50)
        with self.assertRaisesRegex(ValueError, "no episode in the buffer has 4 steps yet"):
            filled(pushes=3).sample(4)
        with self.assertRaisesRegex(ValueError, "push a transition before sampling"):
            filled(pushes=0).sample(4)
        for length in (0, 21):
            with self.assertRaisesRegex(
                ValueError, f"length is {length} and must be a whole number from 1 to 20"
            ):
                filled(length=length)
        with self.assertRaisesRegex(TypeError, "length is 2.0 and must be a whole number"):
            filled(length=2.0)


if __name__ == "__main__":
    unittest.main()
