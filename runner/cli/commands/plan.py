"""``forge-bench plan``: says for every cell what a run would do, why, and at what cost; starts nothing."""

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from runner.cli.commands.base import Command, Context
from runner.cli.words.options import SELECTION
from runner.planning.estimates import Durations
from runner.planning.footprint import files_of, images_needed
from runner.planning.page import CostedPlan, plan_page
from runner.planning.planned import Decision, Launch, PlannedCell, by_machine
from runner.system.terminal import width_of


def _run(context: Context) -> int:
    plan, executor = context.plan, context.executor.name
    costed = CostedPlan(
        plan=plan,
        durations=Durations(plan.records, machines=plan.machines),
        images=images_needed(plan, context.root) if executor == "docker" else (),
        files=files_of(plan, context.store, executor=executor),
        minutes=context.matrix.profiles[plan.profile].minutes,
    )
    if context.own.json:
        print(json.dumps(_as_json(costed), indent=1))
    else:
        print(plan_page(costed, width=width_of(sys.stdout), every_cell=context.own.all))
    return 0


def _as_json(costed: CostedPlan) -> dict[str, Any]:
    plan, durations = costed.plan, costed.durations
    return {
        "profile": plan.profile,
        "counts": {
            decision.value: sum(each.decision is decision for each in plan.cells) for decision in Decision
        },
        "time": {
            **_time(durations, plan.launches),
            "platforms": {
                name: _time(durations, [each for each in plan.launches if each.first.platform.name == name])
                for name in dict.fromkeys(each.cell.platform.name for each in plan.cells)
            },
            "minutes_of_the_whole_profile": costed.minutes,
        },
        "disk": {"images": [asdict(each) for each in costed.images], "files": asdict(costed.files)},
        "launches": [_launch(each, durations) for each in plan.launches],
        "cells": [_cell(each, plan.executions[each.cell.platform.name].kind.value) for each in plan.cells],
    }


def _time(durations: Durations, launches: Iterable[Launch]) -> dict[str, float]:
    total = durations.longest(by_machine(launches).values())
    return {"launches": total.launches, "seconds": round(total.seconds, 3), "unknown": total.unknown}


def _launch(launch: Launch, durations: Durations) -> dict[str, Any]:
    names: dict[str, Any] = launch.first.names()
    del names["case"]
    estimate = durations.of(launch)
    return {
        **names,
        "cases": [each.cell.case.name for each in launch.cells],
        "deadline_seconds": launch.deadline_seconds,
        "estimate": None if estimate is None else asdict(estimate),
    }


def _cell(each: PlannedCell, execution: str) -> dict[str, Any]:
    return {
        **each.cell.names(),
        "parameters": dict(each.cell.parameters),
        "execution": execution,
        "key": each.key,
        "decision": each.decision.value,
        "why": each.why,
        "record": each.record,
    }


def add_options(parser: argparse.ArgumentParser, condition: str = "") -> None:
    """The options of the plan; ``condition`` says before their help when they count."""
    parser.add_argument("--all", action="store_true", help=f"{condition}show every cell on a line of its own")
    parser.add_argument("--json", action="store_true", help=f"{condition}print the plan as JSON")


COMMAND = Command(
    name="plan",
    summary="say for every cell whether it runs, is reused or is left out, why, and the cost; start nothing",
    takes=(*SELECTION, "--matrix", "--executor", "--results", "--fresh"),
    add_options=add_options,
    examples=("plan", "plan --profile full --only dqn --all"),
    run=_run,
)
