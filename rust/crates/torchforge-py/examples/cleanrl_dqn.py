"""DQN after CleanRL's dqn.py, with environment and replay buffer from Rust: python cleanrl_dqn.py [STEPS]."""

import sys
from collections.abc import Callable

import gymnasium
import numpy as np
import torch
import torchforge
import torchforge.envs  # registers torchforge/CartPole-v1 and the others
from torch import nn
from torch.nn import functional

ENVIRONMENT, SEED = "torchforge/CartPole-v1", 1
LEARNING_STARTS, TRAIN_FREQUENCY, TARGET_FREQUENCY = 1_000, 4, 500
BUFFER, BATCH, GAMMA, LEARNING_RATE = 10_000, 128, 0.99, 1e-3
START_EPSILON, END_EPSILON, EXPLORATION = 1.0, 0.05, 0.3


def make_env(name: str, seed: int) -> Callable[[], gymnasium.Env]:
    """What makes one environment, as CleanRL's scripts give it to Gymnasium's vector."""

    def thunk() -> gymnasium.Env:
        env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make(name))
        env.action_space.seed(seed)
        return env

    return thunk


def network() -> nn.Sequential:
    """CleanRL's network, on CartPole's four numbers and two actions."""
    return nn.Sequential(nn.Linear(4, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 2))


def epsilon(step: int, steps: int) -> float:
    """The probability of a random action, which falls linearly."""
    return max(END_EPSILON, START_EPSILON + step / (EXPLORATION * steps) * (END_EPSILON - START_EPSILON))


def main(steps: int) -> None:
    """Train, and print each twentieth episode's return."""
    draw = np.random.default_rng(SEED)
    torch.manual_seed(SEED)
    envs = gymnasium.vector.SyncVectorEnv(
        [make_env(ENVIRONMENT, SEED)], autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP
    )
    q_network, target_network = network(), network()
    target_network.load_state_dict(q_network.state_dict())
    optimizer = torch.optim.Adam(q_network.parameters(), lr=LEARNING_RATE)
    buffer, batch, episodes = torchforge.ReplayBuffer(BUFFER, 4, seed=SEED), None, 0

    obs, _ = envs.reset(seed=SEED)
    for step in range(steps):
        if draw.random() < epsilon(step, steps):
            actions = np.array([envs.single_action_space.sample()])
        else:
            with torch.no_grad():
                actions = q_network(torch.from_numpy(obs)).argmax(dim=1).numpy()
        next_obs, rewards, terminations, truncations, infos = envs.step(actions)
        last_obs = next_obs[0]
        if "final_info" in infos:
            last_obs = infos["final_obs"][0]
            episodes += 1
            if episodes % 20 == 0:
                print(f"step {step}: return {infos['final_info']['episode']['r'][0]:.0f}")
        buffer.push(obs[0], last_obs, actions[0], rewards[0], terminations[0], truncations[0])
        obs = next_obs

        if step > LEARNING_STARTS and step % TRAIN_FREQUENCY == 0:
            batch = buffer.sample(BATCH, out=batch)  # into the same memory each time
            with torch.no_grad():
                target = target_network(torch.from_dlpack(batch.next_observations)).amax(dim=1)
                alive = 1 - torch.from_dlpack(batch.terminated)
                wanted = torch.from_dlpack(batch.rewards) + GAMMA * target * alive
            taken = torch.from_dlpack(batch.actions).long()
            value = q_network(torch.from_dlpack(batch.observations)).gather(1, taken).squeeze(1)
            loss = functional.mse_loss(value, wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if step % TARGET_FREQUENCY == 0:
            target_network.load_state_dict(q_network.state_dict())
    envs.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
