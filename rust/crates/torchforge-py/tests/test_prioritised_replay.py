"""The prioritised replay buffer. Run: python -m unittest discover -s tests (with torchforge importable)."""

import unittest

import numpy as np
import torchforge

WIDTH = 3


def observation(row):
    return np.full(WIDTH, row, np.float32)


def filled(pushes=8, capacity=8, ends=(), **options):
    """Transition i has the reward i, and ends its episode where it is among `ends`."""
    buffer = torchforge.PrioritisedReplayBuffer(capacity, WIDTH, **options)
    for row in range(pushes):
        buffer.push(observation(row), observation(row + 0.5), -row, row, row in ends, False)
    return buffer


def rows_of(batch):
    return batch.transitions.observations[:, 0].astype(int)


def with_errors(buffer, errors):
    """Give each row its error, however often it takes to draw all rows."""
    seen = set()
    while len(seen) < len(errors):
        batch = buffer.sample(64)
        rows = rows_of(batch)
        buffer.update_priorities(batch, np.asarray(errors, np.float32)[rows])
        seen.update(rows.tolist())
    return buffer


class PrioritisedReplayBuffer(unittest.TestCase):
    def test_what_is_drawn_was_pushed_whole(self):
        drawn = filled().sample(64)
        self.assertEqual(len(drawn), 64)
        rows, of = rows_of(drawn), drawn.transitions
        np.testing.assert_array_equal(of.observations, np.repeat(rows[:, None], WIDTH, axis=1))
        np.testing.assert_array_equal(of.next_observations, of.observations + 0.5)
        np.testing.assert_array_equal(of.actions[:, 0], -rows)
        np.testing.assert_array_equal(of.rewards, rows)
        np.testing.assert_array_equal(drawn.discounts, np.full(64, 0.99, np.float32))
        np.testing.assert_array_equal(drawn.weights, np.ones(64, np.float32))

    def test_many_at_once_are_kept_as_one_by_one(self):
        numbers = np.arange(12, dtype=np.float32)
        rows = np.repeat(numbers[:, None], WIDTH, axis=1)
        many = torchforge.PrioritisedReplayBuffer(8, WIDTH, steps=3)
        many.extend(rows, rows + 0.5, -numbers[:, None], numbers, numbers == 6, np.zeros(12, np.bool_))
        one = filled(pushes=12, ends=(6,), steps=3)
        found, wanted = many.sample(64), one.sample(64)
        np.testing.assert_array_equal(found.transitions.values, wanted.transitions.values)
        np.testing.assert_array_equal(found.discounts, wanted.discounts)

    def test_draws_and_weights_follow_the_errors(self):
        errors = np.arange(1, 9)
        buffer = with_errors(filled(alpha=0.6, epsilon=0.0), -errors)
        priorities = errors**0.6
        counts = np.zeros(8)
        for _ in range(500):
            batch = buffer.sample(64, beta=0.4)
            rows = rows_of(batch)
            np.testing.assert_allclose(batch.weights, (priorities[0] / priorities[rows]) ** 0.4, rtol=1e-6)
            counts += np.bincount(rows, minlength=8)
        # 32,000 draws: six times the deviation of a share.
        np.testing.assert_allclose(counts / counts.sum(), priorities / priorities.sum(), atol=0.012)

    def test_an_alpha_of_0_draws_uniformly_whatever_the_errors_are(self):
        buffer = with_errors(filled(alpha=0.0, seed=1), np.arange(1, 9))
        drawn = buffer.sample(8_000)
        counts = np.bincount(rows_of(drawn))
        # Each by itself: five standard deviations of a count of 1,000.
        self.assertEqual(len(counts), 8)
        self.assertLess(np.abs(counts - 1_000).max(), 5 * np.sqrt(1_000 * 7 / 8))
        self.assertGreater(np.abs(counts - 1_000).max(), 0)
        np.testing.assert_array_equal(drawn.weights, np.ones(8_000, np.float32))

    def test_an_alpha_of_0_draws_the_rows_of_a_uniform_buffer(self):
        for pushes in (1, 5, 8, 20):
            equal = filled(pushes=pushes, alpha=0.0, seed=7)
            uniform = torchforge.ReplayBuffer(8, WIDTH, seed=7)
            for row in range(pushes):
                uniform.push(observation(row), observation(row + 0.5), -row, row, False, False)
            for size in (1, 3, 64):
                drawn = uniform.sample(size).observations[:, 0].astype(int)
                self.assertEqual(rows_of(equal.sample(size)).tolist(), drawn.tolist())

    def test_a_drawn_transition_spans_steps_up_to_the_end_of_its_episode_or_the_newest(self):
        # The ring holds 4 to 11, and row 0 of its memory is transition 8.
        batch = filled(pushes=12, ends=(6,), steps=3, gamma=0.5).sample(64)
        of = batch.transitions
        found = {
            row: (reward, int(after[0]), discount, flag)
            for row, reward, after, discount, flag in zip(
                rows_of(batch).tolist(),
                of.rewards.tolist(),
                of.next_observations,
                batch.discounts.tolist(),
                of.terminated.tolist(),
                strict=True,
            )
        }
        wanted = {
            4: (4 + 5 / 2 + 6 / 4, 6, 0.125, 1),
            5: (5 + 6 / 2, 6, 0.25, 1),
            6: (6, 6, 0.5, 1),
            7: (7 + 8 / 2 + 9 / 4, 9, 0.125, 0),
            8: (8 + 9 / 2 + 10 / 4, 10, 0.125, 0),
            9: (9 + 10 / 2 + 11 / 4, 11, 0.125, 0),
            10: (10 + 11 / 2, 11, 0.25, 0),
            11: (11, 11, 0.5, 0),
        }
        self.assertEqual(found, wanted)

    def test_a_transition_that_was_replaced_keeps_its_own_priority(self):
        buffer = filled()
        batch = buffer.sample(8)
        for row in range(8, 11):
            buffer.push(observation(row), observation(row), 0, row, False, False)
        self.assertEqual(buffer.update_priorities(batch, np.full(8, 0.1, np.float32)), 3)
        weights = {}
        for _ in range(20):
            batch = buffer.sample(64, beta=1.0)
            weights.update(zip(rows_of(batch).tolist(), batch.weights.tolist(), strict=True))
        self.assertEqual({row for row, weight in weights.items() if weight == 1}, set(range(3, 8)))

    def test_a_seed_repeats_the_draws(self):
        sizes = {"pushes": 100, "capacity": 100, "seed": 5}
        buffer = filled(**sizes)
        first, second = rows_of(buffer.sample(32)).tolist(), rows_of(buffer.sample(32)).tolist()
        buffer.seed(5)
        self.assertEqual(rows_of(buffer.sample(32)).tolist(), first)
        self.assertNotEqual(first, second)
        self.assertEqual(rows_of(filled(**sizes).sample(32)).tolist(), first)

    def test_a_minibatch_keeps_its_values_when_the_next_is_drawn(self):
        buffer = filled()
        batch = buffer.sample(32)
        before = [batch.transitions.rewards.copy(), batch.weights.copy(), batch.discounts.copy()]
        with_errors(buffer, np.arange(1, 9))
        buffer.sample(32)
        after = [batch.transitions.rewards, batch.weights, batch.discounts]
        for kept, copied in zip(after, before, strict=True):
            np.testing.assert_array_equal(kept, copied)

    def test_out_gets_the_next_draw_and_is_given_back(self):
        sizes = {"pushes": 100, "capacity": 100, "ends": (20, 60), "steps": 3, "seed": 5}
        first, second = (with_errors(filled(**sizes), np.arange(100)) for _ in range(2))
        out = first.sample(32)
        second.sample(32)
        views = out.transitions.observations, out.weights
        before = [view.copy() for view in views]
        self.assertIs(first.sample(32, beta=0.7, out=out), out)
        fresh = second.sample(32, beta=0.7)
        self.assertEqual(out.transitions.values.tobytes(), fresh.transitions.values.tobytes())
        self.assertEqual(out.weights.tobytes(), fresh.weights.tobytes())
        self.assertEqual(out.discounts.tobytes(), fresh.discounts.tobytes())
        for view, old in zip(views, before, strict=True):
            self.assertFalse(np.array_equal(view, old), "a view shows the draw before")

    def test_errors_are_those_of_what_was_drawn_into_a_minibatch_last(self):
        buffer = filled(pushes=4, capacity=4, alpha=1.0, epsilon=0.0)
        out = buffer.sample(1)
        for row in range(4, 8):
            buffer.push(observation(row), observation(row), 0, row, False, False)
        self.assertEqual(buffer.update_priorities(out, np.zeros(1, np.float32)), 1)
        (row,) = rows_of(buffer.sample(1, out=out))
        self.assertEqual(buffer.update_priorities(out, np.zeros(1, np.float32)), 0)
        self.assertNotIn(row, rows_of(buffer.sample(64)), "what has no priority is drawn no more")

    def test_an_out_that_does_not_fit_is_refused_and_nothing_is_drawn(self):
        buffer, other = (filled(pushes=100, capacity=100, seed=5) for _ in range(2))
        out, frozen = buffer.sample(4), buffer.sample(4)
        other.sample(4)
        other.sample(4)
        frozen.weights.setflags(write=False)
        wide = torchforge.PrioritisedReplayBuffer(2, WIDTH + 1)
        row = np.zeros(WIDTH + 1, np.float32)
        wide.push(row, row, 0.0, 0.0, False, False)
        before = [each.copy() for each in (out.transitions.values, out.weights, frozen.transitions.values)]
        for given, options, kind, said in (
            (3, {"out": out}, ValueError, "out is a minibatch of 4 transitions .* must be of 3"),
            (4, {"out": wide.sample(4)}, ValueError, r"of 4 \+ 1 values and must be of 4 of 3 \+ 1"),
            (4, {"out": frozen}, ValueError, "out cannot be written"),
            (4, {"out": out, "beta": 2.0}, ValueError, "beta"),
            (4, {"out": out.transitions}, TypeError, "PrioritisedMinibatch"),
        ):
            with self.assertRaisesRegex(kind, said):
                buffer.sample(given, **options)
        after = (out.transitions.values, out.weights, frozen.transitions.values)
        for kept, copied in zip(after, before, strict=True):
            np.testing.assert_array_equal(kept, copied)
        np.testing.assert_array_equal(rows_of(buffer.sample(4, out=out)), rows_of(other.sample(4)))

    def test_what_does_not_fit_is_named_and_changes_nothing(self):
        buffer = filled()
        batch = buffer.sample(4)
        for wrong, said in (
            (np.ones(3, np.float32), r"errors has shape \[3\] and must have \[4\]"),
            (np.ones(4), "errors is not a NumPy array of float32"),
            (np.array([1, np.nan, 1, 1], np.float32), "error at position 1 is NaN"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                buffer.update_priorities(batch, wrong)
        self.assertEqual(set(buffer.sample(64, beta=1.0).weights.tolist()), {1.0})
        for options, said in (
            ({"alpha": 2.0}, "alpha"),
            ({"epsilon": -1.0}, "epsilon"),
            ({"gamma": 1.5}, "gamma"),
            ({"steps": 0}, "steps is 0 and must be a whole number from 1"),
            ({"seed": -1}, "seed is -1"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                torchforge.PrioritisedReplayBuffer(4, WIDTH, **options)
        for name in ("alpha", "epsilon", "gamma"):
            for value, kind, said in (
                ("1", TypeError, "'1' and must be a number"),
                (np.nan, ValueError, "nan and must be a finite number"),
            ):
                with self.assertRaisesRegex(kind, f"{name} is {said}"):
                    torchforge.PrioritisedReplayBuffer(4, WIDTH, **{name: value})
        for value, kind, said in (
            (-1.0, ValueError, "beta"),
            (np.nan, ValueError, "beta is nan and must be a finite number"),
            ([], TypeError, r"beta is \[\] and must be a number"),
        ):
            with self.assertRaisesRegex(kind, said):
                buffer.sample(4, beta=value)
        with self.assertRaisesRegex(MemoryError, f"batch_size is {1 << 50}, for which there is no memory"):
            buffer.sample(1 << 50)
        good = [observation(0), observation(1), 0.0, 0.0, False, False]
        for place, wrong, said in (
            (2, np.array([np.nan], np.float32), r"action\[0\] is nan and must be a number"),
            (3, np.inf, "reward is inf and must be a finite number"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                buffer.push(*good[:place], wrong, *good[place + 1 :])
        with self.assertRaisesRegex(ValueError, "push a transition before sampling"):
            torchforge.PrioritisedReplayBuffer(4, WIDTH).sample(1)
        self.assertEqual((len(buffer), buffer.capacity), (8, 8))


if __name__ == "__main__":
    unittest.main()
