"""The gradient steps of `phases-sac` with all networks by torch.compile: the option `--compiled` of our trainer.

They are those of `baselines/references/sac.py`, in order and in draws of noise. What torch.compile cannot take as a whole
is written out.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor, nn

from baselines.benchmarks import sac as work
from baselines.benchmarks.training_in_pytorch import in_double_precision, with_exact
from baselines.references import sac
from baselines.references.replay_buffer import Batch
from baselines.references.sac import Bounds

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def sample(
    actor: nn.ModuleDict, bounds: Bounds, observations: Tensor, noise: Tensor
) -> tuple[Tensor, Tensor]:
    """What `sac.sample` computes. The density is written out, because PyTorch's distributions make no whole program."""
    hidden = nn.functional.relu(actor["fc1"](observations))
    hidden = nn.functional.relu(actor["fc2"](hidden))
    log_std = torch.tanh(actor["fc_logstd"](hidden))
    log_std = work.LOG_STD_MIN + 0.5 * (work.LOG_STD_MAX - work.LOG_STD_MIN) * (log_std + 1)
    squashed = torch.tanh(actor["fc_mean"](hidden) + noise * log_std.exp())
    density = -0.5 * noise.pow(2) - log_std - HALF_LOG_TWO_PI
    correction = torch.log(bounds.scale * (1 - squashed.pow(2)) + work.LOG_EPSILON)
    return squashed * bounds.scale + bounds.bias, (density - correction).sum(1, keepdim=True)


def wanted_of(networks: nn.ModuleDict, bounds: Bounds, batch: Batch, alpha: Tensor, noise: Tensor) -> Tensor:
    """What `sac.wanted_of` computes."""
    actions, log_probabilities = sample(networks["actor"], bounds, batch.next_observations, noise)
    values = torch.min(
        sac.value_of(networks["qf1_target"], batch.next_observations, actions),
        sac.value_of(networks["qf2_target"], batch.next_observations, actions),
    )
    continues = (1 - batch.terminations.flatten()) * work.GAMMA
    return batch.rewards.flatten() + continues * (values - alpha * log_probabilities).view(-1)


def critics_loss(networks: nn.ModuleDict, batch: Batch, wanted: Tensor) -> Tensor:
    """The sum of both critics' squared errors."""
    values = [
        sac.value_of(networks[name], batch.observations, batch.actions).view(-1) for name in work.CRITICS
    ]
    first, second = (nn.functional.mse_loss(each, wanted) for each in values)
    return first + second


def actor_loss(
    networks: nn.ModuleDict, bounds: Bounds, observations: Tensor, alpha: Tensor, noise: Tensor
) -> Tensor:
    """What the actor is to make small."""
    actions, log_probabilities = sample(networks["actor"], bounds, observations, noise)
    values = torch.min(
        sac.value_of(networks["qf1"], observations, actions),
        sac.value_of(networks["qf2"], observations, actions),
    )
    return ((alpha * log_probabilities) - values).mean()


def noise_of(bounds: Bounds, observations: Tensor) -> Tensor:
    """Normal noise for so many actions, drawn as the reference draws it."""
    return torch.randn(len(observations), bounds.scale.numel())


class Programs:
    """The reference's gradient steps, with all networks forwards and backwards by torch.compile.

    Optimisers and the draws of noise stay outside. The signatures of the steps are the reference's.
    """

    def __init__(self) -> None:
        """Nothing is compiled before the first calls; networks of the same sizes share what is compiled."""
        compiled = partial(torch.compile, fullgraph=True, dynamic=False)
        self._sample, self._wanted = compiled(sample), compiled(wanted_of)
        self._critics_loss, self._actor_loss = compiled(critics_loss), compiled(actor_loss)

    def wanted_of(
        self,
        networks: nn.ModuleDict,
        bounds: Bounds,
        batch: Batch,
        alpha: float,
        noise: Tensor | None = None,
    ) -> Tensor:
        """What the critics are to say of a minibatch."""
        noise = noise_of(bounds, batch.observations) if noise is None else noise
        with torch.no_grad():
            wanted: Tensor = self._wanted(networks, bounds, batch, torch.tensor(alpha), noise)
        return wanted

    def fit_critics(
        self, networks: nn.ModuleDict, optimizer: torch.optim.Adam, batch: Batch, wanted: Tensor
    ) -> Tensor:
        """One gradient step of both critics."""
        return stepped(self._critics_loss(networks, batch, wanted), optimizer)

    def update_critics(
        self,
        networks: nn.ModuleDict,
        bounds: Bounds,
        optimizer: torch.optim.Adam,
        batch: Batch,
        alpha: float,
        noise: Tensor | None = None,
    ) -> Tensor:
        """One gradient step of both critics towards what the targets say of a minibatch."""
        wanted = self.wanted_of(networks, bounds, batch, alpha, noise)
        return self.fit_critics(networks, optimizer, batch, wanted)

    def update_actor(
        self,
        networks: nn.ModuleDict,
        bounds: Bounds,
        optimizer: torch.optim.Adam,
        observations: Tensor,
        alpha: float,
        noise: Tensor | None = None,
    ) -> Tensor:
        """One gradient step of the actor."""
        noise = noise_of(bounds, observations) if noise is None else noise
        return stepped(
            self._actor_loss(networks, bounds, observations, torch.tensor(alpha), noise), optimizer
        )

    def update_temperature(
        self,
        networks: nn.ModuleDict,
        bounds: Bounds,
        optimizer: torch.optim.Adam,
        observations: Tensor,
        temperature: sac.Temperature,
        noise: Tensor | None = None,
    ) -> Tensor:
        """One gradient step of the temperature."""
        noise = noise_of(bounds, observations) if noise is None else noise
        with torch.no_grad():
            _, log_probabilities = self._sample(networks["actor"], bounds, observations, noise)
        entropies = log_probabilities + temperature.target_entropy
        loss = stepped((-temperature.log_alpha.exp() * entropies).mean(), optimizer)
        temperature.alpha = temperature.log_alpha.exp().item()
        return loss

    @property
    def steps(self) -> sac.Steps:
        """The gradient steps for the parity updates."""
        return sac.Steps(self.update_critics, self.update_actor, self.update_temperature)


def stepped(loss: Tensor, optimizer: torch.optim.Adam) -> Tensor:
    """The loss, after a gradient step that makes it smaller."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def parity(
    given: Mapping[str, Tensor], updates: int, *, move: Callable[[nn.ModuleDict], None], programs: Programs
) -> dict[str, Tensor]:
    """The parity updates of `sac.parity`, by compiled networks; `exact.*` by plain ones."""
    result = sac.consecutive_updates(given, updates, move=move, steps=programs.steps)
    exact = sac.consecutive_updates(in_double_precision(given), updates, move=move)
    return with_exact(result, exact)
