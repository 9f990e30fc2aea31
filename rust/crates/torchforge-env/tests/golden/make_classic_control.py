"""Write steps of Gymnasium's real environments, one file each, as the bits of what they returned.

Run it beside these files in an environment with gymnasium==1.2.3 and numpy==2.2.4:  python make_classic_control.py

One line an event. `reset SEED` or `reset -` (no seed: the generator goes on) and the observation's values, or
`ACTION REWARD TERMINATED TRUNCATED` and the observation's values. Discrete actions and flags are decimal; all else
is the hexadecimal form of the bits, f64 for the reward and f32 for the rest. One seed plays at random, beyond the
bounds of continuous actions too; the other swings with the movement, so that episodes reach their goal.
"""

import struct
from pathlib import Path

import gymnasium
import numpy as np

# By name: the file, and the observed velocity that the swinging policy follows.
ENVIRONMENTS = {
    "Acrobot-v1": ("acrobot.txt", 5),
    "MountainCar-v0": ("mountain_car.txt", 1),
    "MountainCarContinuous-v0": ("mountain_car_continuous.txt", 1),
    "Pendulum-v1": ("pendulum.txt", 2),
}


def bits(observation):
    return " ".join(struct.pack(">f", value).hex() for value in observation)


def play(environment, velocity, seed, steps, swings):
    rng = np.random.default_rng(seed)
    discrete = isinstance(environment.action_space, gymnasium.spaces.Discrete)
    count = int(environment.action_space.n) if discrete else 0
    observation, _ = environment.reset(seed=seed)
    yield f"reset {seed} {bits(observation)}"
    for _ in range(steps):
        forwards = bool(observation[velocity] > 0)
        if discrete:
            action = (count - 1) * forwards if swings else int(rng.integers(count))
            written = str(action)
        else:
            action = rng.uniform(-3, 3, 1).astype(np.float32)
            if swings:
                action = np.array([0.9 if forwards else -0.9], np.float32)
            written = struct.pack(">f", action[0]).hex()
        observation, reward, terminated, truncated, _ = environment.step(action)
        flags = f"{int(terminated)} {int(truncated)}"
        yield f"{written} {struct.pack('>d', reward).hex()} {flags} {bits(observation)}"
        if terminated or truncated:
            observation, _ = environment.reset()
            yield f"reset - {bits(observation)}"


if __name__ == "__main__":
    for name, (file, velocity) in ENVIRONMENTS.items():
        environment = gymnasium.make(name)
        limit = environment.spec.max_episode_steps
        lines = [
            *play(environment, velocity, seed=1, steps=limit + 30, swings=False),
            *play(environment, velocity, seed=42, steps=250, swings=True),
        ]
        Path(__file__).with_name(file).write_text("\n".join(lines) + "\n")
