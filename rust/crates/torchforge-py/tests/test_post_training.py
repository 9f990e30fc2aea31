"""Group advantages and divergences of tokens. Run: python -m unittest discover -s tests (with torchforge importable)."""

import unittest

import numpy as np
import torchforge


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
        with self.assertRaisesRegex(ValueError, "out cannot be written"):
            torchforge.group_advantages(rewards, out=rewards)


class TokenKl(unittest.TestCase):
    def test_the_exact_sum_is_the_formula(self):
        policy, reference = surprise((3, 500), 1), surprise((3, 500), 2)
        wanted = (np.exp(policy) * (policy - reference)).sum(axis=1)
        np.testing.assert_allclose(torchforge.token_kl(policy, reference), wanted, rtol=1e-12)
        alone = torchforge.token_kl(policy[0], reference[0])
        self.assertIsInstance(alone, float)
        self.assertEqual(alone, torchforge.token_kl(policy, reference)[0])

    def test_the_estimator_is_the_formula(self):
        policy, reference = (surprise((32, 2048), seed).astype(np.float32) for seed in (1, 2))
        difference = reference.astype(np.float64) - policy
        wanted = (np.exp(difference) - 1 - difference).sum(axis=1)
        found = torchforge.token_kl_k3(policy, reference)
        self.assertEqual(found.dtype, np.float32)
        np.testing.assert_allclose(found, wanted, rtol=2e-6)
        self.assertEqual(np.float32(torchforge.token_kl_k3(policy[0], reference[0])), found[0])

    def test_no_token_has_no_divergence(self):
        self.assertEqual(torchforge.token_kl(np.empty(0), np.empty(0)), 0.0)
        np.testing.assert_array_equal(torchforge.token_kl(np.empty((2, 0)), np.empty((2, 0))), [0.0, 0.0])
        self.assertEqual(torchforge.token_kl(np.empty((0, 2)), np.empty((0, 2))).shape, (0,))

    def test_what_does_not_fit_is_named(self):
        ones = np.ones(4)
        for call, said in (
            (lambda: torchforge.token_kl(ones, np.ones(5)), "reference has shape"),
            (lambda: torchforge.token_kl(np.ones((1, 1, 1)), np.ones((1, 1, 1))), "policy has 3 dimension"),
            (
                lambda: torchforge.token_kl(ones.astype(np.float32), ones),
                "policy is not a NumPy array of float64",
            ),
            (lambda: torchforge.token_kl_k3(ones, ones), "policy is not a NumPy array of float32"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                call()


if __name__ == "__main__":
    unittest.main()
