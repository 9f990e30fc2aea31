"""Some episodes of a training, played again in Gymnasium's own environment from the log of its resets and actions.

    python3 -m baselines.benchmarks.replay --environment CartPole-v1 --actions actions.safetensors --episodes 5 --seed 1

Prints one line of JSON: the step of all environments together at which each episode ended, its length and its return.
The episodes before a drawn one are not stepped. That is right for environments that draw numbers in their resets alone,
as those of classic control do.
"""

import argparse
import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
from numpy.typing import NDArray
from safetensors.numpy import load_file

from baselines.benchmarks.action_log import NO_SEED


class Span(NamedTuple):
    """What lies between two resets of one environment: its number, that of the reset, and the steps."""

    environment: int
    reset: int
    steps: range


def spans(log: Mapping[str, NDArray[Any]]) -> Iterator[Span]:
    """All episodes of all environments, and what was cut off."""
    environment = 0
    while f"{environment}.actions" in log:
        resets = [*log[f"{environment}.resets"].tolist(), len(log[f"{environment}.actions"])]
        for reset in range(len(resets) - 1):
            yield Span(environment, reset, range(resets[reset], resets[reset + 1]))
        environment += 1


def played(
    name: str, log: Mapping[str, NDArray[Any]], span: Span, count: int
) -> tuple[int, int, float] | None:
    """The episode of a span, as its step, length and return; None where it did not end."""
    environment = gym.make(name)
    actions = log[f"{span.environment}.actions"]
    for seed in log[f"{span.environment}.seeds"][: span.reset + 1].tolist():
        environment.reset(seed=None if seed == NO_SEED else seed)
    total, ended = 0.0, False
    for step in span.steps:
        action = actions[step]
        _, reward, terminated, truncated, _ = environment.step(action if action.ndim else int(action))
        total += float(reward)
        ended = terminated or truncated
    environment.close()
    if not ended:
        return None
    return span.steps[-1] * count + span.environment, len(span.steps), total


def main() -> None:
    """Draw, play and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--environment", required=True)
    parser.add_argument("--actions", required=True, type=Path)
    parser.add_argument("--episodes", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int, help="decides which episodes are drawn")
    options = parser.parse_args()
    log = load_file(options.actions)
    found = [span for span in spans(log) if span.steps]
    count = 1 + max((span.environment for span in found), default=0)
    drawn = random.Random(options.seed).sample(found, min(options.episodes, len(found)))
    episodes = [played(options.environment, log, span, count) for span in drawn]
    print(json.dumps({"episodes": [each for each in episodes if each is not None]}))


if __name__ == "__main__":
    main()
