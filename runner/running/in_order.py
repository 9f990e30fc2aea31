"""Launches of one machine, one after another. A machine that goes away gets a second chance."""

from collections.abc import Callable, Sequence
from itertools import zip_longest

from runner.planning.planned import Launch
from runner.records.record import Record
from runner.running.launch import Surroundings, run_launch
from runner.system.errors import HostAway

# Told a launch, the one that follows it there, if any, and the records that it gave.
WhenEnded = Callable[[Launch, Launch | None, list[Record]], None]


def in_order(
    launches: Sequence[Launch], around: Surroundings, away: dict[str, str], when_ended: WhenEnded
) -> None:
    """Run launches. ``away`` gains the platforms whose machines went away, each with the reason."""
    for launch, following in zip_longest(launches, launches[1:]):
        when_ended(launch, following, _unless_away(launch, around, away))


def _unless_away(launch: Launch, around: Surroundings, away: dict[str, str]) -> list[Record]:
    """The records of a launch. One whose machine went away is begun again once; after that nothing is run there.

    The launches of other machines go on. The ledger says of each that was not run why.
    """
    platform, say = launch.first.platform.name, around.progress.say
    for is_last in (False, True):
        if platform in away:
            break
        try:
            return run_launch(launch, around)
        except HostAway as error:
            if is_last:
                away[platform] = error.why
                say(f"{error.what}: {error.why}")
            else:
                say(f"{error.what}: {error.why}; {launch} begins again")
    with around.book.launch(launch) as book:
        book.write(void=f"the machine of {platform} was away")
    say(f"not run, host away: {launch}")
    return []
