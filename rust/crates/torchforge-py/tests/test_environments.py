"""What the environments refuse. Run: python -m unittest discover -s tests (with torchforge importable)."""

import unittest

import numpy as np
import torchforge


def misaligned(array):
    """The same values at an address where no number of their type may lie."""
    memory = np.zeros(array.nbytes + 1, dtype=np.uint8)
    moved = memory[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


class Arguments(unittest.TestCase):
    def refused(self, call, given, expected):
        with self.subTest(expected), self.assertRaisesRegex(ValueError, expected):
            call(given)

    def test_unfit_actions_of_a_vector_are_named(self):
        environments = torchforge.make_vec("CartPole-v1", 4)
        environments.reset(seed=1)
        actions = np.zeros(4, dtype=np.int64)
        environments.step(actions)
        for given, expected in (
            (actions.astype(np.int32), "actions is not a NumPy array of int64"),
            ([0, 0, 0, 0], "actions is not a NumPy array of int64"),
            (np.zeros(8, dtype=np.int64)[::2], "actions is not C-contiguous"),
            (misaligned(actions), "actions lies at an address"),
            (actions.reshape(4, 1), r"actions has shape \[4, 1\] and must have \[4\]"),
            (actions[:3], r"actions has shape \[3\] and must have \[4\]"),
        ):
            self.refused(environments.step, given, expected)

    def test_unfit_continuous_actions_are_named_and_never_taken_column_by_column(self):
        environments = torchforge.make_vec("Pendulum-v1", 4)
        environments.reset(seed=1)
        actions = np.zeros((4, 1), dtype=np.float32)
        environments.step(actions)
        # No environment here has actions of two dimensions: layout is judged before shape.
        for given, expected in (
            (actions.astype(np.float64), "actions is not a NumPy array of float32"),
            (np.zeros((4, 2), dtype=np.float32)[:, :1], "actions is not C-contiguous"),
            (np.asfortranarray(np.zeros((4, 2), dtype=np.float32)), "actions is not C-contiguous"),
            (misaligned(actions), "actions lies at an address"),
            (actions[:, 0].copy(), r"actions has shape \[4\] and must have \[4, 1\]"),
        ):
            self.refused(environments.step, given, expected)

    def test_unfit_masks_are_named(self):
        environments = torchforge.make_vec("CartPole-v1", 4, autoreset_mode="Disabled")
        environments.reset(seed=1)
        mask = np.ones(8, dtype=np.bool_)
        environments.reset(reset_mask=mask[:4])
        for given, expected in (
            (mask[:4].astype(np.int64), "reset_mask is not a NumPy array of bool"),
            (mask[::2], "reset_mask is not C-contiguous"),
            (mask, r"reset_mask has shape \[8\] and must have \[4\]"),
        ):
            self.refused(lambda mask: environments.reset(reset_mask=mask), given, expected)

    def test_any_byte_of_a_mask_but_zero_is_true(self):
        environments = torchforge.make_vec("CartPole-v1", 4, autoreset_mode="Disabled")
        seen, _ = environments.reset(seed=1)
        mask = np.array([2, 0, 255, 1], dtype=np.uint8).view(np.bool_)
        again, _ = environments.reset(reset_mask=mask)
        self.assertEqual((seen != again).any(axis=1).tolist(), [True, False, True, True])

    def test_unfit_actions_of_one_environment_are_named(self):
        cart_pole, pendulum = torchforge.make("CartPole-v1"), torchforge.make("Pendulum-v1")
        cart_pole.reset(seed=1)
        pendulum.reset(seed=1)
        for given in (0.5, "0", None):
            with self.subTest(given), self.assertRaisesRegex(TypeError, f"action is {given!r} and must be a"):
                cart_pole.step(given)
        for given in (2, -1, 1 << 70):
            self.refused(cart_pole.step, given, f"action is {given} and must be a whole number from 0 to 1")
        action = np.zeros(1, dtype=np.float32)
        pendulum.step(action)
        for given, expected in (
            (0.5, "action is not a NumPy array of float32"),
            (misaligned(action), "action lies at an address"),
            (np.zeros((1, 1), dtype=np.float32), r"action has shape \[1, 1\] and must have \[1\]"),
        ):
            self.refused(pendulum.step, given, expected)

    def test_names_that_are_none_are_named(self):
        for call, error, expected in (
            (lambda: torchforge.make(5), TypeError, "id is 5 and must be a str"),
            (
                lambda: torchforge.make("CartPole"),
                ValueError,
                'there is no environment "CartPole"; use one of',
            ),
            (lambda: torchforge.make_vec(None, 2), TypeError, "id is None and must be a str"),
            (
                lambda: torchforge.make_vec("CartPole-v1", 2, 1),
                TypeError,
                "autoreset_mode is 1 and must be a str",
            ),
            (
                lambda: torchforge.make_vec("CartPole-v1", 2, "Never"),
                ValueError,
                'autoreset_mode is "Never" and must be NextStep, SameStep or Disabled',
            ),
        ):
            with self.subTest(expected), self.assertRaisesRegex(error, expected):
                call()

    def test_misaligned_arrays_of_estimates_are_named(self):
        rewards = np.zeros(16)
        for name in ("rewards", "values", "dones"):
            given = dict.fromkeys(("rewards", "values", "dones"), rewards) | {name: misaligned(rewards)}
            with self.subTest(name), self.assertRaisesRegex(ValueError, f"{name} lies at an address"):
                torchforge.compute_gae(**given, last_value=0.0, gamma=0.99, lam=0.95)


if __name__ == "__main__":
    unittest.main()
