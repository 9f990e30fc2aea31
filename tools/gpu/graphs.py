"""CleanRL's updates as CUDA graphs: each update is captured as one graph, and small networks act by NumPy.

The loops are those of `baselines/tuned`, and the updates are the references'. A learner moves its networks to the device.
Before the clock starts it captures its updates, and puts back the weights and moments that the rehearsals changed.
"""

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from baselines.benchmarks import dqn as dqn_work
from baselines.benchmarks import ppo as ppo_work
from baselines.benchmarks import sac as sac_work
from baselines.benchmarks.training import Trained
from baselines.references import dqn, ppo, sac
from baselines.references.replay_buffer import Batch
from baselines.tuned import dqn as tuned_dqn
from baselines.tuned import ppo as tuned_ppo
from baselines.tuned import sac as tuned_sac
from baselines.tuned.few_rows import FewRows, Floats, relu
from baselines.tuned.networks import detached

# So often a call is made before it is captured: PyTorch's libraries choose kernels and memory in the first ones.
WARM_CALLS = 3


def finish(device: torch.device) -> None:
    """Wait until the device has done all that was asked of it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def empty_batch(rows: int, observation: int, actions: int, device: torch.device) -> Batch:
    """A minibatch of nothing."""
    widths = (observation, observation, actions, 1, 1)
    return Batch(*(torch.zeros(rows, width, device=device) for width in widths))


class Captured:
    """A call without arguments, as a CUDA graph on a GPU: it reads and writes the same memory each time."""

    def __init__(self, call: Callable[[], object], device: torch.device) -> None:
        self._again: Callable[[], object] = call
        if device.type != "cuda":
            return
        # PyTorch wants the calls before a capture on another stream than the default one.
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_CALLS):
                call()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            # What it returns lives in the graph's memory, and is not to be freed.
            self._kept = call()
        self._again = self._graph.replay

    def __call__(self) -> None:
        """Do it again."""
        self._again()


class Fresh:
    """Weights and Adams as they were before the rehearsals of captures."""

    def __init__(self, weights: Iterable[Tensor], optimizers: Sequence[torch.optim.Adam]) -> None:
        self._weights = [(each, each.detach().clone()) for each in weights]
        self._optimizers = optimizers

    def restore(self) -> None:
        """Put them back in place, where the graphs read them."""
        with torch.no_grad():
            for weight, first in self._weights:
                weight.copy_(first)
            moments = (state for each in self._optimizers for state in each.state.values())
            for moment in (value for state in moments for value in state.values()):
                moment.zero_()


class Staged:
    """Rows (n, columns) that go from the CPU to the device in one copy."""

    def __init__(self, rows: int, columns: int, device: torch.device) -> None:
        # Copies from such memory need no further one on their way.
        self._host = torch.zeros(rows, columns, pin_memory=device.type == "cuda")
        self._taken = torch.cuda.Event() if device.type == "cuda" else None
        self.device = torch.zeros(rows, columns, device=device)

    def put(self, parts: Sequence[Tensor]) -> None:
        """Fill the columns from the left, once the device has taken the last rows."""
        if self._taken is not None:
            self._taken.synchronize()
        first = 0
        for part in parts:
            columns = part.view(len(part), -1)
            self._host[:, first : first + columns.shape[1]].copy_(columns)
            first += columns.shape[1]
        self.device.copy_(self._host, non_blocking=True)
        if self._taken is not None:
            self._taken.record()


class Mirror:
    """The weights of networks in memory of the CPU, for acting there."""

    def __init__(self, weights: Iterable[Tensor]) -> None:
        self._weights = list(weights)
        device = self._weights[0].device
        self._flat = torch.cat([each.detach().reshape(-1) for each in self._weights])
        self._host = torch.empty(self._flat.shape, pin_memory=device.type == "cuda")
        parts = self._host.split([each.numel() for each in self._weights])
        self.tensors = [part.view(each.shape) for part, each in zip(parts, self._weights, strict=True)]
        self._gather = Captured(self._gathered, device)
        self.pull()

    def _gathered(self) -> None:
        torch.cat([each.detach().reshape(-1) for each in self._weights], out=self._flat)

    def pull(self) -> None:
        """Take over what was learnt, and wait until it is here."""
        self._gather()
        # Blocking: the copy ends after all that the device was asked before.
        self._host.copy_(self._flat)


def adam(
    weights: Iterable[Tensor], rate: float | Tensor, device: torch.device, **more: Any
) -> torch.optim.Adam:
    """PyTorch's Adam in one kernel, fit to be captured."""
    captured = device.type == "cuda"
    return torch.optim.Adam(list(weights), lr=rate, fused=captured, capturable=captured, **more)


class Dqn:
    """What the tuned DQN's loop asks of a learner."""

    def __init__(self, device: torch.device, online: nn.Sequential, target: nn.Sequential) -> None:
        online.to(device)
        target.to(device)
        inputs = online[0].in_features
        rows = Staged(dqn_work.BATCH_SIZE, 2 * inputs + 3, device)
        optimizer = adam(online.parameters(), dqn_work.LEARNING_RATE, device)
        weights, copies = (detached(list(each.parameters())) for each in (online, target))
        fresh = Fresh([*weights, *copies], [optimizer])

        def update() -> Tensor:
            observations, following, actions, rest = rows.device.split([inputs, inputs, 1, 2], dim=1)
            batch = Batch(observations, following, actions.long(), rest[:, :1], rest[:, 1:])
            return dqn.update(online, target, optimizer, batch)

        self._rows = rows
        self._update = Captured(update, device)
        self.copy_weights = Captured(lambda: torch._foreach_copy_(copies, weights), device)
        fresh.restore()
        self._mirror = Mirror(online.parameters())
        self._values = FewRows([each.numpy() for each in self._mirror.tensors], relu)

    def act(self, observation: Floats) -> int:
        """The greedy action."""
        return int(self._values(observation).argmax())

    def update(self, batch: Batch) -> None:
        """One gradient step."""
        self._rows.put(batch)
        self._update()
        self._mirror.pull()


class Rate:
    """A learning rate on the device, which a graph reads anew."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    @property
    def learning_rate(self) -> float:
        """The rate that was set last."""
        return self._said

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        self._said = rate
        self.tensor.fill_(rate)


class Ppo:
    """What the tuned PPO's loop asks of a learner. The loop acts and looks back with the CPU's copy of the weights."""

    def __init__(self, device: torch.device, parameters: ppo_work.Parameters, agent: nn.ModuleDict) -> None:
        agent.to(device)
        inputs = agent["critic"][0].in_features
        rows = Staged(parameters.rollout_rows // parameters.minibatches, inputs + 5, device)
        self.optimizer = Rate(torch.tensor(ppo_work.LEARNING_RATE, device=device))
        # Away from a GPU this Adam takes no tensor.
        rate = self.optimizer.tensor if device.type == "cuda" else ppo_work.LEARNING_RATE
        optimizer = adam(agent.parameters(), rate, device, eps=ppo_work.ADAM_EPSILON)
        fresh = Fresh(agent.parameters(), [optimizer])

        def update() -> ppo.Losses:
            observations, *rest = rows.device.split([inputs, *[1] * 5], dim=1)
            actions, *numbers = (each.squeeze(1) for each in rest)
            return ppo.update(agent, optimizer, ppo.Minibatch(observations, actions.long(), *numbers))

        self._rows = rows
        self._update = Captured(update, device)
        fresh.restore()
        self._mirror = Mirror(agent.parameters())
        self._updates, self._updates_of_iteration = 0, parameters.epochs * parameters.minibatches
        # The critic's tensors come first.
        self.critic, self.actor = self._mirror.tensors[:6], self._mirror.tensors[6:]

    def update(self, batch: ppo.Minibatch) -> None:
        """One gradient step. The loop looks at the weights after an iteration's last one."""
        self._rows.put(batch)
        self._update()
        self._updates += 1
        if self._updates % self._updates_of_iteration == 0:
            self._mirror.pull()


class Sac:
    """What the tuned SAC's loop asks of a learner. Its noise is drawn on the device; the loop's is left unused."""

    def __init__(
        self,
        device: torch.device,
        parameters: sac_work.Parameters,
        networks: nn.ModuleDict,
        log_alpha: Tensor,
        bounds: sac.Bounds,
    ) -> None:
        networks.to(device)
        bounds = sac.Bounds(*(each.to(device) for each in bounds))
        actions, inputs = bounds.scale.numel(), networks["actor"]["fc1"].in_features
        log_alpha = log_alpha.to(device).requires_grad_()
        target_entropy = sac_work.target_entropy(actions)
        critics = [each for name in sac_work.CRITICS for each in networks[name].parameters()]
        targets = [each for name in sac_work.CRITICS for each in networks[f"{name}_target"].parameters()]
        ahead, behind = detached(critics), detached(targets)
        optimizers = sac.Optimizers(
            critics=adam(critics, sac_work.CRITIC_LEARNING_RATE, device),
            actor=adam(networks["actor"].parameters(), sac_work.POLICY_LEARNING_RATE, device),
            temperature=adam([log_alpha], sac_work.ALPHA_LEARNING_RATE, device),
        )
        fresh = Fresh([*networks.parameters(), log_alpha], optimizers)
        rows = Staged(parameters.batch, 2 * inputs + actions + 2, device)
        seen = Staged(1, inputs, device)
        action = torch.zeros(1, actions, device=device)

        def noise(count: int) -> Tensor:
            return torch.randn(count, actions, device=device)

        def of_critics() -> None:
            batch = Batch(*rows.device.split([inputs, inputs, actions, 1, 1], dim=1))
            alpha = log_alpha.detach().exp()
            sac.update_critics(networks, bounds, optimizers.critics, batch, alpha, noise(parameters.batch))

        def of_policy() -> None:
            given = rows.device[:, :inputs]
            for _ in range(sac_work.POLICY_FREQUENCY):
                alpha = log_alpha.detach().exp()
                sac.update_actor(networks, bounds, optimizers.actor, given, alpha, noise(parameters.batch))
                # As the reference's, which reads alpha back as a number: a capture cannot.
                with torch.no_grad():
                    _, logs = sac.sample(networks["actor"], bounds, given, noise(parameters.batch))
                loss = (-log_alpha.exp() * (logs + target_entropy)).mean()
                optimizers.temperature.zero_grad()
                loss.backward()
                optimizers.temperature.step()

        def of_acting() -> None:
            with torch.no_grad():
                action.copy_(sac.sample(networks["actor"], bounds, seen.device, noise(1))[0])

        self._rows, self._seen, self._action = rows, seen, action
        self._critics = Captured(of_critics, device)
        self._policy = Captured(of_policy, device)
        self._acting = Captured(of_acting, device)
        self.move_targets = Captured(lambda: torch._foreach_lerp_(behind, ahead, sac_work.TAU), device)
        fresh.restore()

    def act(self, observation: Tensor) -> Tensor:
        """An action for an observation, and the end of all updates before it."""
        self._seen.put([observation])
        self._acting()
        return self._action.cpu()

    def update_critics(self, batch: Batch, _: Tensor) -> None:
        """One gradient step of both critics."""
        self._rows.put(batch)
        self._critics()

    def update_policy(self, _: Tensor, noises: Sequence[object]) -> Sequence[object]:
        """The rounds of actor and temperature."""
        self._policy()
        return noises


def _dqn(device: torch.device, parameters: dqn_work.Parameters, seed: int) -> Trained:
    kind: Any = partial(Dqn, device)
    return tuned_dqn.train(kind, parameters, seed)


def _ppo(device: torch.device, parameters: ppo_work.Parameters, seed: int) -> Trained:
    # The checks of distributions wait for the device, which a capture cannot.
    Distribution.set_default_validate_args(False)
    kind: Any = partial(Ppo, device, parameters)
    return tuned_ppo.train(kind, parameters, seed)


def _sac(device: torch.device, parameters: sac_work.Parameters, seed: int) -> Trained:
    Distribution.set_default_validate_args(False)
    kind: Any = partial(Sac, device, parameters)
    trained = tuned_sac.train(kind, parameters, seed)
    # The loop leaves its last updates to the device.
    finish(device)
    return dataclasses.replace(trained, ended=time.perf_counter())


TRAIN: dict[str, Any] = {"dqn": _dqn, "ppo": _ppo, "sac": _sac}
