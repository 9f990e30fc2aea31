"""Group advantages and divergences of tokens. Run: python -m unittest discover -s tests (with torchforge importable)."""

import unittest

import numpy as np
import torchforge


def k3(ratio):
    return np.exp(ratio) - 1 - ratio


ESTIMATORS = {
    torchforge.token_kl_k1: lambda ratio: -ratio,
    torchforge.token_kl_k2: lambda ratio: ratio**2 / 2,
    torchforge.token_kl_k3: k3,
}


def surprise(shape, seed):
    return -np.random.default_rng(seed).exponential(0.5, shape)


class GroupAdvantages(unittest.TestCase):
    def test_advantages_are_the_formula(self):
        for shape in ((1, 1), (16, 4), (7, 5), (300, 200)):
            rewards = np.random.default_rng(1).standard_normal(shape)
            centred = rewards - rewards.mean(axis=1, keepdims=True)
            wanted = centred / (rewards.std(axis=1, keepdims=True) + 1e-4)
            found = torchforge.group_advantages(rewards, 1e-4)
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
            out = np.empty(shape)
            self.assertIs(torchforge.group_advantages(rewards, 1e-4, out=out), out)
            np.testing.assert_array_equal(out, found)

    def test_no_group_is_no_error(self):
        for shape in ((0, 4), (4, 0)):
            self.assertEqual(torchforge.group_advantages(np.empty(shape)).shape, shape)

    def test_what_does_not_fit_is_named_and_changes_nothing(self):
        rewards = np.ones((4, 4))
        for wrong, said in (
            (np.ones(4), "rewards has 1 dimension"),
            (np.ones((4, 4), np.float32), "rewards is not a NumPy array of float64"),
            (np.ones((4, 8))[:, ::2], "rewards is not C-contiguous"),
            ([[1.0]], "rewards is not a NumPy array"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                torchforge.group_advantages(wrong)
        out = np.full((4, 3), 7.0)
        with self.assertRaisesRegex(ValueError, "out has shape"):
            torchforge.group_advantages(rewards, out=out)
        self.assertTrue((out == 7.0).all())
        for size in (4, 200):
            square = np.ones((size, size))
            for given in (square, np.from_dlpack(square)):
                with self.assertRaisesRegex(ValueError, "out cannot be written .*shares memory"):
                    torchforge.group_advantages(given, out=square)
            self.assertTrue((square == 1.0).all())
        holed = rewards.copy()
        holed[2, 3] = np.nan
        out = np.full((4, 4), 7.0)
        for given in ({}, {"out": out}):
            with self.assertRaisesRegex(ValueError, r"rewards\[2, 3\] is nan and must be a number"):
                torchforge.group_advantages(holed, **given)
        self.assertTrue((out == 7.0).all())
        for epsilon, kind, said in (
            (np.nan, ValueError, "epsilon is nan and must be a finite number"),
            (-1, ValueError, "epsilon is -1 and must be 0 or more"),
            ("1", TypeError, "epsilon is '1' and must be a number"),
        ):
            with self.assertRaisesRegex(kind, said):
                torchforge.group_advantages(rewards, epsilon)


class TokenKl(unittest.TestCase):
    def test_the_exact_sum_is_the_formula(self):
        policy, reference = surprise((3, 500), 1), surprise((3, 500), 2)
        wanted = (np.exp(policy) * (policy - reference)).sum(axis=1)
        np.testing.assert_allclose(torchforge.token_kl(policy, reference), wanted, rtol=1e-12)
        alone = torchforge.token_kl(policy[0], reference[0])
        self.assertIsInstance(alone, float)
        self.assertEqual(alone, torchforge.token_kl(policy, reference)[0])

    def test_the_estimators_are_the_formulas_whatever_the_shape(self):
        draw = np.random.default_rng(7)
        for _ in range(100):
            shape = (int(draw.integers(1, 9)), int(draw.integers(1, 700)))
            spread = 10.0 ** draw.uniform(-3, 1)
            policy = -draw.exponential(spread, shape)
            # Near and far from the policy, as early and late in a training.
            reference = policy + draw.normal(0.0, min(spread, 2.0), shape)
            for kind, tolerances in ((np.float64, (1e-13, 1e-13, 1e-12)), (np.float32, (1e-7, 1e-7, 3e-6))):
                ours, theirs = policy.astype(kind), reference.astype(kind)
                ratio = theirs.astype(np.float64) - ours
                for (estimator, formula), tolerance in zip(ESTIMATORS.items(), tolerances, strict=True):
                    wanted = formula(ratio)
                    found = estimator(ours, theirs)
                    self.assertEqual((found.dtype, found.shape), (kind, shape[:1]))
                    # Of many signs the terms, not the sum, say what rounding may lose; of k3 so do the parts of a term.
                    size = (np.exp(ratio) + np.abs(ratio) if formula is k3 else np.abs(wanted)).sum(axis=1)
                    self.assertTrue((np.abs(found - wanted.sum(axis=1)) <= tolerance * size).all())
                    alone = estimator(ours[0], theirs[0])
                    self.assertIsInstance(alone, float)
                    self.assertEqual(kind(alone), found[0])

    def test_k2_and_k3_are_never_negative_in_double_precision_and_nought_where_nothing_differs(self):
        policy = surprise((50, 300), 3)
        reference = policy + np.random.default_rng(4).normal(0.0, 1e-8, policy.shape)
        for estimator in (torchforge.token_kl_k2, torchforge.token_kl_k3):
            self.assertTrue((estimator(policy, reference) > 0.0).all())
            self.assertTrue((estimator(policy, policy) == 0.0).all())
        # Near the policy k3 is k2: the formula as it stands would be rounding alone.
        np.testing.assert_allclose(
            torchforge.token_kl_k3(policy, reference), torchforge.token_kl_k2(policy, reference), rtol=1e-6
        )

    def test_out_gets_the_sums_of_several_sequences_and_is_given_back(self):
        policy, reference = surprise((5, 300), 5), surprise((5, 300), 6)
        for divergence in (torchforge.token_kl, *ESTIMATORS):
            for kind in (np.float64,) if divergence is torchforge.token_kl else (np.float32, np.float64):
                pair = policy.astype(kind), reference.astype(kind)
                out = np.full(5, np.nan, kind)
                self.assertIs(divergence(*pair, out=out), out)
                self.assertEqual(out.tobytes(), divergence(*pair).tobytes())

    def test_out_of_no_tokens_is_nought(self):
        for divergence in (torchforge.token_kl, *ESTIMATORS):
            out = np.full(2, 7.0)
            divergence(np.empty((2, 0)), np.empty((2, 0)), out=out)
            self.assertEqual(out.tolist(), [0.0, 0.0])

    def test_an_out_that_does_not_fit_is_named_and_nothing_is_written(self):
        for divergence in (torchforge.token_kl, *ESTIMATORS):
            policy, reference = surprise((4, 3), 1), surprise((4, 3), 2)
            holed = policy.copy()
            holed[2, 1] = np.nan
            frozen = np.full(4, 7.0)
            frozen.setflags(write=False)
            for first, second, out, said in (
                (policy, reference, np.full(3, 7.0), r"out has shape \[3\] and must have \[4\]"),
                (policy, reference, np.full((4, 1), 7.0), r"out has shape \[4, 1\] and must have \[4\]"),
                (policy, reference, np.full(4, 7.0, np.float32), "out is not a NumPy array of float64"),
                (policy, reference, np.full(8, 7.0)[::2], "out is not C-contiguous"),
                (policy, reference, [7.0] * 4, "out is not a NumPy array of float64"),
                (policy, reference, frozen, "out cannot be written"),
                (policy, reference[:3].copy(), np.full(4, 7.0), "reference has shape"),
                (holed, reference, np.full(4, 7.0), r"policy\[2, 1\] is nan and must be a number"),
                (policy, holed, np.full(4, 7.0), r"reference\[2, 1\] is nan and must be a number"),
                (
                    policy[0],
                    reference[0],
                    np.full(1, 7.0),
                    "out is given, and the sum of one sequence is a number",
                ),
            ):
                with self.assertRaisesRegex(ValueError, said):
                    divergence(first, second, out=out)
                self.assertTrue((np.asarray(out) == 7.0).all())
            before = policy.copy()
            with self.assertRaisesRegex(ValueError, "out cannot be written"):
                divergence(policy, reference, out=policy.reshape(-1)[:4])
            np.testing.assert_array_equal(policy, before)

    def test_no_token_has_no_divergence(self):
        for divergence in (torchforge.token_kl, *ESTIMATORS):
            self.assertEqual(divergence(np.empty(0), np.empty(0)), 0.0)
            np.testing.assert_array_equal(divergence(np.empty((2, 0)), np.empty((2, 0))), [0.0, 0.0])
            self.assertEqual(divergence(np.empty((0, 2)), np.empty((0, 2))).shape, (0,))

    def test_what_does_not_fit_is_named(self):
        ones = np.ones(4)
        for call, said in (
            (lambda: torchforge.token_kl(ones, np.ones(5)), "reference has shape"),
            (lambda: torchforge.token_kl(np.ones((1, 1, 1)), np.ones((1, 1, 1))), "policy has 3 dimension"),
            (
                lambda: torchforge.token_kl(ones.astype(np.float32), ones),
                "policy is not a NumPy array of float64",
            ),
            (lambda: torchforge.token_kl(ones, np.array([0, np.nan, 0, 0])), r"reference\[1\] is nan"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                call()
        for estimator in ESTIMATORS:
            for policy, reference, said in (
                (
                    ones.astype(int),
                    ones,
                    "policy is not a NumPy array of float32 or float64 but one of int64",
                ),
                ([0.0], ones, r"policy is not a NumPy array of float32 or float64 but \[0.0\]"),
                (
                    ones.astype(np.float32),
                    ones,
                    "reference is not a NumPy array of float32 but one of float64",
                ),
                (ones, np.ones((1, 4)), r"reference has shape \[1, 4\] and must have \[4\]"),
                (np.ones(8)[::2], ones, "policy is not C-contiguous"),
                (np.full((2, 2), np.nan), np.ones((2, 2)), r"policy\[0, 0\] is nan and must be a number"),
                (ones, np.array([0, 0, 0, np.nan]), r"reference\[3\] is nan and must be a number"),
            ):
                with self.assertRaisesRegex(ValueError, said):
                    estimator(policy, reference)

    def test_infinite_surprise_follows_the_formula(self):
        certain, impossible = np.zeros(1), np.array([-np.inf])
        self.assertEqual(torchforge.token_kl_k1(certain, impossible), np.inf)
        self.assertEqual(torchforge.token_kl_k2(certain, impossible), np.inf)
        self.assertEqual(torchforge.token_kl_k3(certain, impossible), np.inf)


if __name__ == "__main__":
    unittest.main()
