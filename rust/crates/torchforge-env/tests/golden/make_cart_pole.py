"""Write cart_pole.txt: random steps of the real CartPole-v1, states as the bits of f64.

Run it in an environment with gymnasium==1.2.3:  python make_cart_pole.py > cart_pole.txt

One line an event. `reset SEED` or `reset -` (no seed: the generator goes on), or
`ACTION REWARD TERMINATED TRUNCATED`; then the four state values and the four observation values in hex.
Seeds above 1,000 always push towards upright, so that some episodes reach the limit of 500 steps.
"""

import struct

import gymnasium
import numpy as np


def bits(state, observation):
    exact = [struct.pack(">d", value).hex() for value in state]
    rounded = [struct.pack(">f", value).hex() for value in observation]
    return " ".join(exact + rounded)


def play(seed, steps):
    environment = gymnasium.make("CartPole-v1")
    actions = np.random.default_rng(seed)
    observation, _ = environment.reset(seed=seed)
    print("reset", seed, bits(environment.unwrapped.state, observation))
    for _ in range(steps):
        action = int(actions.integers(2))
        if seed > 1000:
            action = int(observation[2] + 0.5 * observation[3] + 0.02 * observation[1] > 0)
        observation, reward, terminated, truncated, _ = environment.step(action)
        state = bits(environment.unwrapped.state, observation)
        print(action, int(reward), int(terminated), int(truncated), state)
        if terminated or truncated:
            observation, _ = environment.reset()
            print("reset", "-", bits(environment.unwrapped.state, observation))


if __name__ == "__main__":
    for seed in (1, 2, 3, 42):
        play(seed, 300)
    play(1001, 1001)
    play(5_000_000_000, 20)
