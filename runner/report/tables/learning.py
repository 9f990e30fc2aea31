"""What the episodes of a training say of how it learned."""

from collections.abc import Sequence

from runner.matrix import Returns
from runner.records.measured import Episode
from runner.records.record import Record


def mean_of_last(episodes: Sequence[Episode], count: int) -> float | None:
    """The mean return of the last ``count`` episodes, of all where there are fewer; None without any."""
    last = [float(each.total) for each in episodes[-count:]]
    return sum(last) / len(last) if last else None


def steps_until_learnt(record: Record, returns: Returns) -> int | None:
    """Environment steps until a training first reached the threshold of its case; None where it never did."""
    return steps_to_threshold(record.played, returns.episodes, returns.thresholds.get(record.case))


def steps_to_threshold(episodes: Sequence[Episode], window: int, threshold: float | None) -> int | None:
    """Environment steps until the mean over ``window`` episodes first reaches the threshold.

    None where it never does, and where there is no threshold. The window must be full; an episode that ends at step
    index s ends after s + 1 steps.
    """
    if threshold is None:
        return None
    total = 0.0
    for index, episode in enumerate(episodes):
        total += float(episode.total)
        if index >= window:
            total -= float(episodes[index - window].total)
        if index + 1 >= window and total / window >= threshold:
            return episode.step + 1
    return None
