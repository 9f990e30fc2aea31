"""The module against the plain loop. Run: python -m unittest discover -s tests (with torchforge importable)."""

import unittest

import numpy as np
import torchforge

GAMMA, LAM = 0.99, 0.95


def plain_loop(rewards, values, dones, last_value):
    advantages = np.zeros_like(rewards)
    advantage, next_value = 0.0, last_value
    for t in reversed(range(len(rewards))):
        alive = 1.0 - dones[t]
        delta = rewards[t] + GAMMA * next_value * alive - values[t]
        advantage = advantages[t] = delta + GAMMA * LAM * alive * advantage
        next_value = values[t]
    return advantages, advantages + values


def arrays(shape):
    rng = np.random.default_rng(42)
    rewards, values = rng.standard_normal(shape), rng.standard_normal(shape)
    return rewards, values, (rng.random(shape) > 0.95).astype(np.float64)


class ComputeGae(unittest.TestCase):
    def test_one_trajectory_is_the_plain_loop(self):
        # Few values are copied, more are borrowed, and many computed beside other threads.
        for length in (0, 1, 7, 8, 9, 128, 512, 513, 40_000):
            rewards, values, dones = arrays(length)
            found = torchforge.compute_gae(rewards, values, dones, 0.5, GAMMA, LAM)
            for ours, exact in zip(found, plain_loop(rewards, values, dones, 0.5)):
                np.testing.assert_allclose(ours, exact, rtol=1e-12, atol=1e-12)

    def test_a_row_of_a_batch_is_the_row_alone(self):
        rewards, values, dones = arrays((8, 129))
        last = np.linspace(-1.0, 1.0, 8)
        advantages, returns = torchforge.compute_gae_batched(rewards, values, dones, last, GAMMA, LAM)
        for row in range(8):
            alone = torchforge.compute_gae(rewards[row], values[row], dones[row], last[row], GAMMA, LAM)
            np.testing.assert_array_equal(advantages[row], alone[0])
            np.testing.assert_array_equal(returns[row], alone[1])

    def test_results_are_arrays_like_any_other_and_lie_apart_however_long(self):
        # From some length on they are halves of one array.
        for length in (0, 16, 8191, 8192, 40_000):
            rewards, values, dones = arrays(length)
            advantages, returns = torchforge.compute_gae(rewards, values, dones, 0.5, GAMMA, LAM)
            for found in (advantages, returns):
                self.assertEqual((found.shape, found.dtype), ((length,), np.float64))
                self.assertTrue(found.flags.c_contiguous and found.flags.writeable and found.flags.aligned)
            self.assertFalse(np.shares_memory(advantages, returns))
            torchforge.compute_gae(rewards, values, dones, 0.5, GAMMA, LAM, out=(returns, advantages))
        rewards, values, dones = arrays((128, 129))
        last = np.zeros(128)
        found = torchforge.compute_gae_batched(rewards, values, dones, last, GAMMA, LAM)
        wanted = np.empty((128, 129)), np.empty((128, 129))
        torchforge.compute_gae_batched(rewards, values, dones, last, GAMMA, LAM, out=wanted)
        np.testing.assert_array_equal(found, wanted)

    def test_given_arrays_are_written_and_returned(self):
        rewards, values, dones = arrays(16)
        out = np.empty(16), np.empty(16)
        found = torchforge.compute_gae(rewards, values, dones, 0.0, GAMMA, LAM, out=out)
        self.assertIs(found[0], out[0])
        self.assertIs(found[1], out[1])
        np.testing.assert_array_equal(found, torchforge.compute_gae(rewards, values, dones, 0.0, GAMMA, LAM))

    def test_given_arrays_share_memory_with_no_other_argument(self):
        # A long call borrows arrays beside comparing where they lie.
        for length in (2, 3, 512, 40_000):
            room = np.full(5 * length + 1, 7.0)
            room[: 3 * length] = np.concatenate(arrays(length))
            rewards, values, dones, first, second = room[:-1].reshape(5, length)
            by_one = room[4 * length - 1 :][:length]
            for out, said in (
                ((rewards, second), "out.0. cannot be written"),
                ((first, values), "out.1. cannot be written"),
                ((dones, second), "out.0. cannot be written"),
                ((first, first), "out.1. cannot be written"),
                ((first, by_one), "out.1. cannot be written"),
                ((second, room[4 * length + 1 :]), "out.1. cannot be written"),
                ((room[3 * length - 1 : -1][:length], second), "out.0. cannot be written"),
            ):
                before = room.copy()
                with self.subTest((length, said)), self.assertRaisesRegex(ValueError, said):
                    torchforge.compute_gae(rewards, values, dones, 0.0, GAMMA, LAM, out=out)
                np.testing.assert_array_equal(room, before)
            # Neighbours share none.
            wanted = torchforge.compute_gae(rewards, values, dones, 0.0, GAMMA, LAM)
            found = torchforge.compute_gae(rewards, values, dones, 0.0, GAMMA, LAM, out=(first, second))
            np.testing.assert_array_equal(found, wanted)
        batch = [array.reshape(2, 4) for array in arrays(8)]
        last = np.zeros(8)
        with self.assertRaisesRegex(ValueError, "out.1. cannot be written"):
            torchforge.compute_gae_batched(
                *batch, last[3:5], GAMMA, LAM, out=(np.empty((2, 4)), last.reshape(2, 4))
            )

    def test_memory_that_two_arrays_of_different_owners_share_is_seen(self):
        for length in (16, 40_000):
            rewards, values, dones = arrays(length)
            before, spare = rewards.copy(), np.empty(length)
            memory = bytearray(8 * length)
            one, other = np.frombuffer(memory), np.frombuffer(memory)
            for given, out, said in (
                (np.from_dlpack(rewards), (rewards, spare), "out.0. cannot be written"),
                (np.from_dlpack(rewards), (spare, rewards), "out.1. cannot be written"),
                (rewards, (one, other), "out.1. cannot be written"),
            ):
                with self.subTest((length, said)), self.assertRaisesRegex(ValueError, said):
                    torchforge.compute_gae(given, values, dones, 0.0, GAMMA, LAM, out=out)
                np.testing.assert_array_equal(rewards, before)

    def test_arrays_without_values_can_be_given(self):
        nothing = np.empty(0)
        found = torchforge.compute_gae(nothing, nothing, nothing, 0.5, GAMMA, LAM, out=(nothing, nothing))
        self.assertEqual([each.size for each in found], [0, 0])

    def test_read_only_inputs_are_enough(self):
        given = arrays(16)
        for array in given:
            array.flags.writeable = False
        torchforge.compute_gae(*given, 0.0, GAMMA, LAM)

    def test_unfit_arrays_are_named(self):
        rewards, values, dones = arrays(16)
        wide = arrays((4, 4))[0]
        locked = np.empty(16)
        locked.flags.writeable = False
        for expected, change in (
            (
                "rewards is not a NumPy array of float64 but one of float32",
                {"rewards": rewards.astype(np.float32)},
            ),
            ("rewards is not a NumPy array of float64", {"rewards": list(rewards)}),
            ("values is not C-contiguous", {"values": np.empty(32)[::2]}),
            ("dones has shape", {"dones": dones[:3]}),
            ("rewards has 2 dimension", {"rewards": wide}),
            ("out.0. has shape", {"out": (np.empty(3), np.empty(16))}),
            ("out.0. cannot be written", {"out": (rewards, np.empty(16))}),
            ("out.1. cannot be written", {"out": (np.empty(16), locked)}),
        ):
            given = {"rewards": rewards, "values": values, "dones": dones} | change
            with self.subTest(expected), self.assertRaisesRegex(ValueError, expected):
                torchforge.compute_gae(**given, last_value=0.0, gamma=GAMMA, lam=LAM)

    def test_what_is_no_number_is_named_wherever_it_is_and_nothing_is_written(self):
        for length in (5, 600, 40_000):
            for place in (0, length // 2, length - 1):
                for name in ("rewards", "values", "dones"):
                    rewards, values, dones = arrays((3, length))
                    given = {"rewards": rewards, "values": values, "dones": dones}
                    given[name][1, place] = np.nan
                    out = np.full((3, length), 7.0), np.full((3, length), 7.0)
                    for more in ({}, {"out": out}):
                        with self.assertRaisesRegex(ValueError, rf"{name}\[1, {place}\] is nan and must be"):
                            torchforge.compute_gae_batched(
                                **given, last_values=np.zeros(3), gamma=GAMMA, lam=LAM, **more
                            )
                    self.assertTrue((out[0] == 7.0).all() and (out[1] == 7.0).all())

    def test_infinite_rewards_are_numbers(self):
        rewards, values, dones = arrays(16)
        rewards[15] = np.inf
        dones[:] = 0.0
        found = torchforge.compute_gae(rewards, values, dones, 0.0, GAMMA, LAM)
        self.assertTrue((found[0] == np.inf).all())

    def test_numbers_that_are_none_are_named(self):
        given = dict(zip(("rewards", "values", "dones"), arrays(4), strict=True))
        numbers = {"last_value": 0.0, "gamma": GAMMA, "lam": LAM}
        for name in numbers:
            for value, kind, said in (
                (np.nan, ValueError, "nan and must be a finite number"),
                (10**400, ValueError, "10+... and must be a finite number"),
                ("0.9", TypeError, "'0.9' and must be a number"),
                (None, TypeError, "None and must be a number"),
            ):
                with self.subTest((name, value)), self.assertRaisesRegex(kind, f"{name} is {said}"):
                    torchforge.compute_gae(**given, **{**numbers, name: value})
        with self.assertRaisesRegex(ValueError, r"last_values\[1\] is nan"):
            torchforge.compute_gae_batched(*arrays((2, 4)), np.array([0.0, np.nan]), GAMMA, LAM)
        for out in (3, [np.empty(4), np.empty(4)], (np.empty(4),)):
            with (
                self.subTest(out),
                self.assertRaisesRegex(TypeError, "(?s)out is .* and must be a tuple of 2"),
            ):
                torchforge.compute_gae(**given, **numbers, out=out)

    def test_one_last_value_a_row_is_needed(self):
        with self.assertRaisesRegex(ValueError, "last_values has shape"):
            torchforge.compute_gae_batched(*arrays((2, 4)), np.zeros(3), GAMMA, LAM)

    def test_the_version_is_told(self):
        self.assertRegex(torchforge.__version__, r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
