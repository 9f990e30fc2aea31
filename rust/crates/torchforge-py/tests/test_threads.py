"""Long calls let other Python threads run. Run: python -m unittest discover -s tests."""

import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torchforge
from torchforge.agents import DQN, SAC


def turns_of_another_thread(call):
    """How often another thread had its turn in the middle of a call."""
    ended, turns = threading.Event(), []

    def take():
        while not ended.is_set():
            turns.append(time.perf_counter())

    other = threading.Thread(target=take)
    other.start()
    began = time.perf_counter()
    try:
        call()
    finally:
        seconds = time.perf_counter() - began
        ended.set()
        other.join()
    # The interpreter itself may change threads just before the call and after it.
    return sum(began + seconds / 4 < each < began + seconds * 3 / 4 for each in turns)


class LongCalls(unittest.TestCase):
    def test_another_thread_runs_while_many_environments_take_a_step(self):
        environments = torchforge.make_vec("CartPole-v1", 1 << 20)
        environments.reset(seed=1)
        actions = np.ones(1 << 20, np.int64)
        self.assertGreater(turns_of_another_thread(lambda: environments.step(actions)), 0)

    def test_another_thread_runs_while_a_policy_answers_many_observations(self):
        observations = np.zeros((1 << 17, 4), np.float32)
        agent = DQN("CartPole-v1", seed=1)
        self.assertGreater(turns_of_another_thread(lambda: agent.predict(observations)), 0)

    def test_threads_that_ask_one_policy_get_the_answers_of_one_thread(self):
        observations = np.random.default_rng(1).standard_normal((1000, 3)).astype(np.float32)
        agent = SAC("Pendulum-v1", seed=1)
        alone = agent.predict(observations)
        # Few rows are answered with the interpreter lock, and many without it.
        parts = [observations[begin : begin + size] for size in (7, 100) for begin in range(0, 700, size)]
        with ThreadPoolExecutor(4) as threads:
            answers = list(threads.map(agent.predict, parts))
        for size, found in ((7, answers[:100]), (100, answers[100:])):
            np.testing.assert_array_equal(np.concatenate(found), alone[:700], err_msg=f"rows at once: {size}")


if __name__ == "__main__":
    unittest.main()
