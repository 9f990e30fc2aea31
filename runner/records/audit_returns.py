"""The returns: what an episode can earn follows from its length, in a task whose rewards are known.

The matrix decides what is measured. This table only says what these names mean wherever they are measured.
"""

from collections.abc import Iterator, Mapping
from operator import attrgetter, eq, truediv

from runner.records.contradiction import Contradiction, Rule, contradiction
from runner.records.record import Record

# The least and the most that a step earns, by Gymnasium's definition of each task.
_PER_STEP: Mapping[str, tuple[float, float]] = {
    "CartPole-v1": (1, 1),
    "MountainCar-v0": (-1, -1),
    "Acrobot-v1": (-1, 0),
    # At the worst: upside down, at the greatest speed, with the greatest torque.
    "Pendulum-v1": (-16.2736044, 0),
}
# Sums of up to a million rewards, some in single precision.
_ROUNDING = 1e-4
_TOTAL, _LENGTH = attrgetter("total"), attrgetter("length")


def earned(record: Record) -> Iterator[Contradiction]:
    """No episode earns more or less than its steps can."""
    task = record.parameters.get("environment")
    if not record.episodes or not isinstance(task, str) or task not in _PER_STEP:
        return
    least, most = _PER_STEP[task]
    slack = _ROUNDING * max(abs(least), abs(most))
    if least == most == 1 and all(map(eq, map(_TOTAL, record.episodes), map(_LENGTH, record.episodes))):
        # Most tasks that are published: an episode earns its length. A million divisions take as long as reading them.
        return
    each_step = list(map(truediv, map(_TOTAL, record.episodes), map(_LENGTH, record.episodes)))
    for extreme in (min(each_step), max(each_step)):
        if not least - slack <= extreme <= most + slack:
            index = each_step.index(extreme)
            found = record.episodes[index]
            yield contradiction(
                f"episode {index} earned {found.total:.6g} in {found.length} steps of {task}, each of which earns "
                f"{least:g} to {most:g}",
                *(f"episodes.{index}.return", f"episodes.{index}.length", "parameters.environment"),
            )


RULES: tuple[Rule, ...] = (earned,)
