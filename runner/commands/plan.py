"""``forge-bench plan``: what would become of every cell, and why; nothing is started."""

import argparse
import json

from runner.commands.base import Command, Context
from runner.plan import Decision, Plan


def _run(context: Context) -> int:
    print(_as_json(context.plan) if context.own.json else _as_text(context.plan))
    return 0


def _as_text(plan: Plan) -> str:
    lines = [f"{each.decision.value:<9} {each.cell}: {each.why}" for each in plan.cells]
    counts = {decision: sum(each.decision is decision for each in plan.cells) for decision in Decision}
    total = ", ".join(f"{count} {decision.value}" for decision, count in counts.items())
    return "\n".join([*lines, f"{total}; {len(plan.launches)} launches"])


def _as_json(plan: Plan) -> str:
    return json.dumps(
        {
            "profile": plan.profile,
            "launches": len(plan.launches),
            "cells": [
                {
                    **each.cell.names(),
                    "parameters": dict(each.cell.parameters),
                    "execution": plan.executions[each.cell.platform.name].kind.value,
                    "key": each.key,
                    "decision": each.decision.value,
                    "why": each.why,
                }
                for each in plan.cells
            ],
        },
        indent=1,
    )


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the plan as JSON")


COMMAND = Command(
    name="plan",
    summary="say for every cell whether it runs, is reused or is left out, and why; start nothing",
    add_options=_add_options,
    run=_run,
)
