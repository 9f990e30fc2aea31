"""Calls for measurements. Run: python -m unittest discover -s tests (with torchforge importable)."""

import operator
import unittest
from functools import reduce
from types import SimpleNamespace

import numpy as np
import torchforge
from torchforge._torchforge import (
    call_returning_an_array,
    call_with_an_array,
    call_with_five_arrays,
    call_without_arrays,
    steps_from_rust,
)


class Calls(unittest.TestCase):
    def test_without_arrays_the_very_argument_comes_back(self):
        for value in (1 << 70, "word", object()):
            self.assertIs(call_without_arrays(value), value)

    def test_with_arrays_their_values_at_the_index_are_added_from_left_to_right(self):
        arrays = np.random.default_rng(1).standard_normal((5, 7)) * 10.0 ** np.arange(0, 15, 3)[:, None]
        for index in range(7):
            values = [float(array[index]) for array in arrays]
            self.assertEqual([call_with_an_array(array, index) for array in arrays], values)
            for place in (index, np.int64(index)):
                self.assertEqual(call_with_five_arrays(*arrays, place), reduce(operator.add, values))
        backwards = [call_with_five_arrays(*arrays[::-1], index) for index in range(7)]
        forwards = [call_with_five_arrays(*arrays, index) for index in range(7)]
        self.assertNotEqual(backwards, forwards, "these values show no order")

    def test_an_array_that_comes_back_has_memory_of_its_own(self):
        array = np.random.default_rng(1).standard_normal(7)
        found = call_returning_an_array(array)
        self.assertEqual(found.tobytes(), array.tobytes())
        self.assertFalse(np.shares_memory(found, array))

    def test_what_does_not_fit_is_named(self):
        ones = np.ones(4)
        for call, kind, said in (
            (lambda: call_with_an_array(ones, 4), IndexError, r"index is 4 and array has 4 value\(s\)"),
            (
                lambda: call_with_an_array(ones, -1),
                ValueError,
                "index is -1 and must be a whole number from 0",
            ),
            (lambda: call_with_an_array(ones, True), TypeError, "index is True and must be a whole number"),
            (lambda: call_with_an_array(ones, 1.0), TypeError, "index is 1.0 and must be a whole number"),
            (lambda: call_with_an_array([1.0], 0), ValueError, "array is not a NumPy array of float64"),
            (lambda: call_with_an_array(np.ones(8)[::2], 0), ValueError, "array is not C-contiguous"),
            (
                lambda: call_with_five_arrays(ones, ones, ones, ones, np.ones(4, np.float32), 0),
                ValueError,
                "fifth is not a NumPy array of float64 but one of float32",
            ),
            (lambda: call_returning_an_array(None), ValueError, "array is not a NumPy array"),
        ):
            with self.assertRaisesRegex(kind, said):
                call()

    def test_the_package_does_not_offer_them(self):
        self.assertEqual([name for name in dir(torchforge) if name.startswith(("call_", "steps_"))], [])


class Counting:
    """An environment whose observation is the number of steps and resets so far. Its episodes have three steps."""

    observation_space = SimpleNamespace(shape=(2,))
    action_space = SimpleNamespace(n=2, start=5)

    def __init__(self, fault=None):
        self.taken, self.steps, self.resets, self.fault = [], 0, 0, fault

    def seen(self):
        return np.array([self.steps, self.resets], np.float32)

    def reset(self):
        self.resets += 1
        return self.seen(), {}

    def step(self, action):
        if self.fault:
            raise self.fault
        self.taken.append(action)
        self.steps += 1
        return self.seen(), 0.0, self.steps % 6 == 3, self.steps % 6 == 0, {}


class StepsFromRust(unittest.TestCase):
    def test_each_action_is_a_step_and_each_end_of_an_episode_a_reset(self):
        environment = Counting()
        last = steps_from_rust(environment, [0, 1, 1, 0, 0, 1])
        self.assertEqual(environment.taken, [5, 6, 6, 5, 5, 6])
        self.assertEqual(environment.resets, 2)
        self.assertEqual((last.dtype, last.tolist()), (np.float32, [6.0, 1.0]), "the last step's, no reset's")

    def test_what_the_environment_raises_is_raised(self):
        with self.assertRaisesRegex(RuntimeError, "its own words"):
            steps_from_rust(Counting(RuntimeError("its own words")), [0])

    def test_what_does_not_fit_is_named(self):
        strings = SimpleNamespace(observation_space=SimpleNamespace(shape=()), action_space=None)
        for environment, actions, said in (
            (Counting(), [], "actions is empty"),
            (Counting(), [2], "action 2"),
            (strings, [0], "has not discrete actions and an observation of one axis"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                steps_from_rust(environment, actions)


if __name__ == "__main__":
    unittest.main()
