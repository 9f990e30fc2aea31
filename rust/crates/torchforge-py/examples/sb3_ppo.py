"""Stable-Baselines3's PPO in an environment from Rust: python sb3_ppo.py [STEPS]."""

import sys

import gymnasium
import torchforge.envs  # noqa: F401 - registers torchforge/CartPole-v1 and the others
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy


def main(steps: int) -> None:
    """Train, and print the mean return of ten episodes."""
    environments = make_vec_env("torchforge/CartPole-v1", n_envs=4, seed=1)
    agent = PPO("MlpPolicy", environments, n_steps=128, seed=1, device="cpu").learn(steps)
    mean, deviation = evaluate_policy(
        agent, gymnasium.make("torchforge/CartPole-v1"), n_eval_episodes=10, warn=False
    )
    print(f"mean return {mean:.1f} ± {deviation:.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
