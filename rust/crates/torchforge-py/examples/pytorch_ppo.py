"""PPO in PyTorch, with environments and advantages from Rust: python pytorch_ppo.py [STEPS]."""

import sys

import numpy as np
import torch
import torchforge
import torchforge.envs
from torch import nn
from torch.distributions import Categorical

ENVIRONMENTS, ROLLOUT, EPOCHS, MINIBATCH = 8, 128, 4, 256


def network(outputs: int) -> nn.Sequential:
    """Two hidden layers on CartPole's four numbers."""
    return nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


def rows(steps: np.ndarray) -> np.ndarray:
    """(steps, environments) as trajectories, (environments, steps), in the type that advantages take."""
    return np.ascontiguousarray(steps.T, dtype=np.float64)


def main(steps: int) -> None:
    """Train, and print the mean length of the episodes that end in each rollout."""
    torch.manual_seed(1)
    actor, critic = network(2), network(1)
    optimiser = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-3)
    environments = torchforge.envs.VectorEnv("CartPole-v1", ENVIRONMENTS, autoreset_mode="SameStep")
    environments.reset(seed=1)

    @torch.no_grad()
    def act(observations: np.ndarray) -> np.ndarray:
        return Categorical(logits=actor(torch.from_numpy(observations))).sample().numpy()

    for _ in range(steps // (ENVIRONMENTS * ROLLOUT)):
        rollout = environments.collect(ROLLOUT, act)
        observations, actions = torch.from_numpy(rollout.observations), torch.from_numpy(rollout.actions)
        with torch.no_grad():
            values = critic(observations).squeeze(-1)
            last_values = critic(torch.from_numpy(rollout.next_observations)).squeeze(-1)
            old = Categorical(logits=actor(observations)).log_prob(actions)
        dones = rollout.terminations | rollout.truncations
        advantages, returns = torchforge.compute_gae_batched(
            rows(rollout.rewards), rows(values.numpy()), rows(dones), last_values.double().numpy(), 0.99, 0.95
        )
        columns = [
            observations.flatten(0, 1),
            actions.flatten(),
            old.flatten(),
            *(torch.from_numpy(each.T.astype(np.float32)).flatten() for each in (advantages, returns)),
        ]
        for _ in range(EPOCHS):
            for chosen in torch.randperm(ENVIRONMENTS * ROLLOUT).split(MINIBATCH):
                seen, taken, before, advantage, target = (column[chosen] for column in columns)
                policy = Categorical(logits=actor(seen))
                ratio = (policy.log_prob(taken) - before).exp()
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                gain = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
                error = (critic(seen).squeeze(-1) - target).square().mean()
                loss = 0.5 * error - gain - 0.01 * policy.entropy().mean()
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
                optimiser.step()
        print(f"mean length {ENVIRONMENTS * ROLLOUT / max(1, len(rollout.ended)):.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
