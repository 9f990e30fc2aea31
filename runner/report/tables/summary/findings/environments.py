"""How the lead at stepping environments depends on their number, and from which number on ours is faster."""

from collections.abc import Iterator
from itertools import takewhile

from runner.report.tables import units
from runner.report.tables.selection import Room
from runner.report.tables.summary.declared import GYMNASIUM
from runner.report.tables.summary.findings.finding import Finding, Outcome, unmeasured
from runner.report.tables.summary.findings.lead import Lead, ours_over, present
from runner.report.tables.summary.places import Rooms

GROWTH = "The lead at stepping environments widens with their number"
CROSSOVER = "With few environments ours is slower than Gymnasium"
_BENCHMARK = "env-vector"


def growth(rooms: Rooms) -> Finding:
    """The lead with the most environments, beside that with the fewest."""
    match _leads(rooms):
        case [fewest, *_, most]:
            throughput = _throughput(rooms[_BENCHMARK], most)
            return Finding(
                claim=GROWTH,
                outcome=most.wider_than(fewest),
                figures=(str(fewest), str(most), *throughput),
            )
        case _:
            return unmeasured(
                GROWTH, f"it needs ranked ratios of two cases of {_BENCHMARK} against Gymnasium"
            )


def crossover(rooms: Rooms) -> Finding:
    """The verdict with the fewest environments, and the number from which on ours is always faster."""
    leads = _leads(rooms)
    if not leads:
        return unmeasured(CROSSOVER, f"it needs a ranked ratio of {_BENCHMARK} against Gymnasium")
    always = list(takewhile(lambda lead: lead.faster is Outcome.HOLDS, reversed(leads)))
    crossing = f"faster from {always[-1].row.case.name} on" if always else "not faster with the most of them"
    return Finding(claim=CROSSOVER, outcome=leads[0].faster.opposite, figures=(str(leads[0]), crossing))


def _leads(rooms: Rooms) -> list[Lead]:
    """Over Gymnasium, the fewest environments first."""
    room = rooms.get(_BENCHMARK)
    cases = [] if room is None else sorted(room.parameters, key=lambda case: _environments(room, case))
    return present(ours_over(rooms, _BENCHMARK, case, GYMNASIUM) for case in cases)


def _environments(room: Room, case: str) -> int:
    return int(room.parameters[case].get("environments", 1))


def _throughput(room: Room, lead: Lead) -> Iterator[str]:
    name, case = lead.row.implementation.name, lead.row.case.name
    figure = lead.row.figure(room.benchmark.headline)
    if figure is not None:
        rate = units.significant(_environments(room, case) / figure.value)
        yield f"{name} takes {rate} steps a second at {case}"
