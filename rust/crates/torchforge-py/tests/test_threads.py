"""Long calls let other Python threads run. Run: python -m unittest discover -s tests."""

import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torchforge
from torchforge.agents import DQN, SAC

# The system may leave the other thread without a processor for the whole of a call. With the interpreter lock held it
# never has its turn, however often the call is made.
MOST_CALLS = 100


def another_thread_has_its_turn(call):
    """Whether another thread ran in the middle of one of some calls."""
    ended, turns = threading.Event(), []

    def take():
        while not ended.is_set():
            turns.append(time.perf_counter())

    other = threading.Thread(target=take)
    other.start()
    try:
        for _ in range(MOST_CALLS):
            turns.clear()
            began = time.perf_counter()
            call()
            seconds = time.perf_counter() - began
            # The interpreter itself may change threads just before the call and after it.
            if any(began + seconds / 4 < each < began + seconds * 3 / 4 for each in tuple(turns)):
                return True
        return False
    finally:
        ended.set()
        other.join()


class LongCalls(unittest.TestCase):
    def test_another_thread_runs_while_many_environments_take_a_step(self):
        environments = torchforge.make_vec("CartPole-v1", 1 << 20)
        environments.reset(seed=1)
        actions = np.ones(1 << 20, np.int64)
        self.assertTrue(another_thread_has_its_turn(lambda: environments.step(actions)))

    def test_another_thread_runs_while_a_policy_answers_many_observations(self):
        observations = np.zeros((1 << 17, 4), np.float32)
        agent = DQN("CartPole-v1", seed=1)
        self.assertTrue(another_thread_has_its_turn(lambda: agent.predict(observations)))

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
