"""The findings as text for people, within 80 columns, and as data for programs."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from tabulate import tabulate

from runner.figures.comparison import natural_order
from runner.figures.statistics import Interval
from runner.records.record import Record
from runner.report.tables.units import bounds, figure_value, significant
from runner.system import printable
from runner.verify.findings import TOLERANCE, Finding, Judged, Verdict
from runner.verify.images import Likeness, StandIn, short
from runner.verify.ranks import in_words

_WIDTH = 80
# The widest columns. The names of figures get the rest of the line.
_CELL, _COUNT, _GAP = 24, 3, 2
_MOST_NAMED = 12
_LONGEST_LINE = 1000
_RULE = (
    "Bytes and counts must be equal. A time is reproduced where the 95 % interval of now/then lies within "
    f"{TOLERANCE[0]:g} to {TOLERANCE[1]:g}, or holds 1 with its middle in there. "
    "A time differs where the interval lies outside. Figures in parentheses decide nothing. "
    "A rank is reproduced where its interval excludes 1 on the same side, then and now."
)


@dataclass(frozen=True, kw_only=True)
class Report:
    """The result of a verification.

    ``foreign`` holds how records differ from the matrix that they were held against, by their identifiers.
    """

    judged: tuple[Judged, ...]
    stand_ins: tuple[StandIn, ...]
    launches: int
    machine: str
    foreign: Mapping[str, tuple[str, ...]]

    @property
    def deciding(self) -> tuple[Finding, ...]:
        """The findings that the verdict rests on."""
        return tuple(found for each in self.judged for found in each.findings if not found.informational)

    @property
    def decided(self) -> bool:
        """Whether the time that ranks was reproduced of some cell."""
        return any(
            found.figure == each.headline and found.verdict is Verdict.REPRODUCED
            for each in self.judged
            for found in each.findings
        )

    def why_foreign(self, judged: Judged) -> tuple[str, ...]:
        """How a cell's records differ from the matrix; empty where they are its work."""
        return next((why for pair in judged.pairs if (why := self.foreign.get(pair.old.identifier))), ())

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many of the deciding findings have each verdict."""
        found = Counter(each.verdict for each in self.deciding)
        return {verdict: found[verdict] for verdict in Verdict}

    def summary(self) -> str:
        """The last line."""
        counts = self.counts
        figures = ", ".join(
            f"{counts[verdict]} {word}"
            for verdict, word in (
                (Verdict.REPRODUCED, "reproduced"),
                (Verdict.DIFFERS, "differ"),
                (Verdict.INCONCLUSIVE, "inconclusive"),
            )
        )
        records = sum(len(each.pairs) for each in self.judged)
        return (
            f"{figures}: figures of {_many(records, 'record')}, run again in {_many(self.launches, 'launch')}"
        )


def as_text(report: Report) -> str:
    """A table for each benchmark and platform, then the reasons, then one summary line."""
    lines = [f"run again on {report.machine}"]
    lines += [_image(stand_in) for stand_in in _distinct(report.stand_ins)]
    for title, members in _by_place(report.judged):
        lines += ["", title, "", _verdicts(members)]
        if any(_times(each) for each in members):
            lines += ["", _intervals(members)]
        if any(_ranks(each) for each in members):
            lines += ["", _rank_table(members)]
    for verdict, heading in (
        (Verdict.DIFFERS, "What differs"),
        (Verdict.INCONCLUSIVE, "Inconclusive, and why"),
    ):
        reasons = list(_reasons(report.judged, verdict))
        if reasons:
            lines += ["", f"{heading}:", *reasons]
    lines += _not_of_this_matrix(report)
    lines += ["", *_wrapped(_RULE, indent=0), "", *_wrapped(report.summary(), indent=0)]
    # A record may hold any names of files and versions of software.
    return printable.lines("\n".join(lines), _LONGEST_LINE)


def as_json(report: Report) -> str:
    """The whole report as data, with one object for each finding."""
    return json.dumps(
        {
            "tolerance": list(TOLERANCE),
            "machine": report.machine,
            "launches": report.launches,
            "images": [
                {
                    "recorded": stand_in.recorded.plain(),
                    "run": stand_in.facts.plain(),
                    "likeness": stand_in.likeness.name.lower().replace("_", "-"),
                    "claimed": stand_in.is_claimed,
                }
                for stand_in in report.stand_ins
            ],
            "cells": [_cell_object(each, report.why_foreign(each)) for each in report.judged],
            "summary": {verdict.value: count for verdict, count in report.counts.items()},
        },
        indent=1,
        allow_nan=False,
    )


def first_difference(report: Report) -> str:
    """The first differing finding, in one line."""
    for each in report.judged:
        for found in each.findings:
            if found.verdict is Verdict.DIFFERS and not found.informational:
                return f"{_name(each)}{_seed(found)}, {found.figure}: {found.why}"
    return "nothing differs"


def first_undecided(report: Report) -> str:
    """Why the first time that ranks was not judged, in one line."""
    for each in report.judged:
        for found in each.findings:
            if found.figure in (each.headline, "all figures"):
                return f"{_name(each)}, {found.figure}: {found.why}"
    return "no cell that passed was run again"


def _not_of_this_matrix(report: Report) -> list[str]:
    """How cells differ from the matrix. Each reason stands once, with its cells."""
    reasons: dict[tuple[str, ...], list[str]] = {}
    for each in report.judged:
        if why := report.why_foreign(each):
            reasons.setdefault(why, []).append(_name(each))
    if not reasons:
        return []
    lines = ["", "Not the work of this matrix:"]
    for why, cells in reasons.items():
        lines += [line for each in why for line in _wrapped(each, indent=2)]
        lines += _wrapped(_some_of(cells), indent=4)
    return lines


def _cell_object(judged: Judged, why_foreign: Sequence[str]) -> dict[str, Any]:
    cell = {name: value for name, value in judged.first.cell.plain().items() if name != "seed"}
    return {
        **cell,
        "profile": judged.first.profile,
        "determinism": judged.first.determinism.value,
        "execution": judged.first.execution.kind.value,
        "not_of_this_matrix": list(why_foreign),
        "seeds": sorted({pair.old.seed for pair in judged.pairs}),
        "records": [pair.old.identifier for pair in judged.pairs],
        "figures": [
            {
                "figure": found.figure,
                "verdict": found.verdict.value,
                "why": found.why,
                "informational": found.informational,
                "seed": found.seed,
                "record": found.record,
                "then": found.then,
                "now": found.now,
                **_ratio_object(found.ratio),
                "ranks": None if found.ranks is None else [_ratio_object(each) for each in found.ranks],
            }
            for found in judged.findings
        ],
    }


def _ratio_object(ratio: Interval | None) -> dict[str, Any]:
    if ratio is None:
        return {"ratio": None, "low": None, "high": None, "n": None}
    return {"ratio": ratio.value, "low": ratio.low, "high": ratio.high, "n": ratio.n}


def _verdicts(members: Sequence[Judged]) -> str:
    """One row for each cell, with its figures under each verdict. A verdict without figures has no column."""
    shown = [
        verdict
        for verdict in Verdict
        if any(found.verdict is verdict for each in members for found in each.findings)
    ]
    cells = min(_CELL, max(len(_cell(each)) for each in members))
    room = (_WIDTH - cells - _COUNT - _GAP * (1 + len(shown))) // max(1, len(shown))
    return tabulate(
        [
            [
                _cell(each),
                each.processes,
                *(", ".join(_figures(each.findings, verdict)) for verdict in shown),
            ]
            for each in members
        ],
        headers=["cell", "n", *(verdict.value for verdict in shown)],
        tablefmt="simple",
        disable_numparse=True,
        maxcolwidths=[cells, None, *([room] * len(shown))],
    )


def _figures(findings: Iterable[Finding], verdict: Verdict) -> list[str]:
    """The figures with this verdict, with the number of processes where it is not all."""
    findings = list(findings)
    total = Counter(found.figure for found in findings)
    count = Counter(found.figure for found in findings if found.verdict is verdict)
    informational = {found.figure for found in findings if found.informational}
    return [
        (f"({name})" if name in informational else name)
        + ("" if count[name] == total[name] else f" {count[name]}/{total[name]}")
        for name in total
        if count[name]
    ]


def _times(judged: Judged) -> list[Finding]:
    return [found for found in judged.findings if found.then is not None and not found.informational]


def _intervals(members: Sequence[Judged]) -> str:
    """The headline of each cell, then and now, with the ratio where it is allowed."""
    return tabulate(
        [
            [
                _cell(each),
                figure_value(found.then or 0.0, found.figure),
                figure_value(found.now or 0.0, found.figure),
                "not formed"
                if found.ratio is None
                else f"{significant(found.ratio.value)}x{bounds(found.ratio)}",
            ]
            for each in members
            for found in _times(each)
        ],
        headers=["cell", f"{members[0].headline}, then", "now", "now/then"],
        tablefmt="simple",
        disable_numparse=True,
        maxcolwidths=[_CELL, None, None, 21],
    )


def _ranks(judged: Judged) -> list[Finding]:
    return [found for found in judged.findings if found.ranks is not None]


def _rank_table(members: Sequence[Judged]) -> str:
    """How many times faster than its reference each cell was and is, with the margin of each rank."""
    return tabulate(
        [
            [
                _cell(each),
                *("not formed" if ratio is None else in_words(ratio) for ratio in found.ranks or ()),
            ]
            for each in members
            for found in _ranks(each)
        ],
        headers=["cell", "times faster than its reference, then", "now"],
        tablefmt="simple",
        disable_numparse=True,
        maxcolwidths=[_CELL, None, 21],
    )


def _reasons(judged: Iterable[Judged], verdict: Verdict) -> Iterator[str]:
    """Each reason once, with its cells and seeds."""
    reasons: dict[tuple[str, str], dict[str, list[int]]] = {}
    for each in judged:
        for found in each.findings:
            if found.verdict is verdict and not found.informational:
                seeds = reasons.setdefault((found.figure, found.why), {}).setdefault(_name(each), [])
                seeds += [] if found.seed is None else [found.seed]
    for (name, why), places in reasons.items():
        yield from _wrapped(f"{name}: {why}", indent=2)
        yield from _wrapped(
            _some_of([f"{place}{_seeds(seeds)}" for place, seeds in places.items()]), indent=4
        )


def _some_of(cells: Sequence[str]) -> str:
    rest = f", and {len(cells) - _MOST_NAMED} more" if len(cells) > _MOST_NAMED else ""
    return f"{'; '.join(cells[:_MOST_NAMED])}{rest}"


def _seeds(seeds: Sequence[int]) -> str:
    if not seeds:
        return ""
    return f" seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, sorted(seeds)))}"


def _wrapped(text: str, *, indent: int) -> list[str]:
    blanks = " " * indent
    return wrap(text, _WIDTH, initial_indent=blanks, subsequent_indent=f"{blanks}  ")


def _by_place(judged: Iterable[Judged]) -> Iterator[tuple[str, list[Judged]]]:
    places: dict[str, list[Judged]] = {}
    for each in judged:
        places.setdefault(_place(each.first), []).append(each)
    for title, members in places.items():
        yield title, sorted(members, key=lambda each: natural_order(each.first.case))


def _place(record: Record) -> str:
    return (
        f"{record.benchmark} on {record.platform} ({record.execution.kind.value}), profile {record.profile}, "
        f"toolchain {record.cell.toolchain}"
    )


def _cell(judged: Judged) -> str:
    return f"{judged.first.case} {judged.first.implementation}"


def _name(judged: Judged) -> str:
    record = judged.first
    return f"{record.benchmark} {record.case} {record.implementation} {record.platform}"


def _seed(found: Finding) -> str:
    return "" if found.seed is None else f" seed {found.seed}"


def _image(stand_in: StandIn) -> str:
    bare = stand_in.facts.identity is None and not stand_in.is_claimed
    if bare and stand_in.likeness is Likeness.SAME_CODE:
        return "in no image: the same sources, with what this host has"
    return f"image {short(stand_in.facts)}: {stand_in}"


def _distinct(stand_ins: Iterable[StandIn]) -> list[StandIn]:
    return list({(stand_in.facts, str(stand_in)): stand_in for stand_in in stand_ins}.values())


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 'es' if word.endswith('ch') else 's'}"
