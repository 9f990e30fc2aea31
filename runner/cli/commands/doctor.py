"""``forge-bench doctor``: finds what would stop a run here, and prints the command that corrects it."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence

from runner.cli.commands.base import Command, Context
from runner.cli.words.options import SELECTION
from runner.host.checks import examine
from runner.host.finding import Finding, State, exit_code
from runner.host.probe import read_host_state
from runner.host.setup import install_missing
from runner.host.state import Wanted
from runner.images.spec import ImageSpec
from runner.matrix.images import CORE
from runner.planning.cells import Cell, select
from runner.records.execution import Execution, ExecutionKind
from runner.system import machine
from runner.system.errors import HostNotReady
from runner.system.terminal import width_of, wrap

_INDENT = " " * 9


def _run(context: Context) -> int:
    if context.own.fix:
        _mend(context)
    cells = _cells(context)
    specs = _specs(cells)
    findings = examine(
        read_host_state(
            Wanted(
                toolchains=context.selection.toolchains_of(context.matrix),
                images=tuple(spec.tag for spec in specs),
                foreign=frozenset(spec.architecture for spec in specs) - {machine.architecture()},
                memory_bytes=max((cell.limits.memory_bytes for cell in cells), default=0),
                cpus=max((cell.limits.cpus for cell in cells), default=1),
            ),
            specs,
            executor=context.executor_name,
            inside_image=context.inside_image,
            root=context.root,
            store=context.store,
            left_out=_left_out(context, cells),
        )
    )
    code = exit_code(findings)
    if context.own.json:
        print(json.dumps({"exit_code": code, "findings": [each.as_json() for each in findings]}, indent=1))
    else:
        print(as_text(findings, width_of(sys.stdout)))
    return code


def as_text(findings: Sequence[Finding], width: int | None) -> str:
    """One line for each finding. A problem's reason and remedy follow below its line."""
    lines = []
    for each in findings:
        lines.append(wrap(f"{each.state.value:<8} {each.check}: {each.found}", width, hang=len(_INDENT)))
        if each.why:
            lines.append(wrap(f"{_INDENT}why: {each.why}", width))
        # A command is for copying: it is never broken.
        lines += [f"{_INDENT}to do: {command}" for command in each.commands]
        if each.advice and each.state is not State.OK:
            lines.append(wrap(f"{_INDENT}{'or' if each.commands else 'to do'}: {each.advice}", width))
    counts = {state: sum(each.state is state for each in findings) for state in State}
    total = ", ".join(f"{count} {state.value}" for state, count in counts.items() if count)
    return "\n".join([*lines, total])


def _mend(context: Context) -> None:
    """Run the safe steps. The checks that follow find what is still missing."""
    say = context.progress.say
    if context.executor_name == "local":
        say("nothing to correct: no container is started from here")
        return
    wanted = context.architectures_here
    for toolchain in context.selection.toolchains_of(context.matrix):
        try:
            left = install_missing(wanted, toolchain, say=say)
        except HostNotReady as error:
            say(f"{error}")
            continue
        if left:
            say(
                f"not corrected: {', '.join(need.check for need in left)} (only root can, or no command is known)"
            )


def _cells(context: Context) -> list[Cell]:
    """The requested run. Reading it needs no daemon."""
    own = machine.architecture()
    kinds = {True: ExecutionKind.NATIVE, False: ExecutionKind.EMULATED}
    executions = {
        name: Execution(kind=kinds[platform.architecture == own], emulator=None)
        for name, platform in context.matrix.platforms.items()
    }
    cells = select(context.matrix, context.selection, executions)
    return [cell for cell in cells if cell.left_out is None]


def _specs(cells: Sequence[Cell]) -> tuple[ImageSpec, ...]:
    wanted = (
        ImageSpec(target=target, architecture=cell.platform.architecture, toolchain=cell.toolchain)
        for cell in cells
        for target in (CORE, cell.implementation.image)
    )
    return tuple(dict.fromkeys(wanted))


def _left_out(context: Context, cells: Sequence[Cell]) -> Mapping[str, str]:
    if context.executor_name != "local":
        return {}
    found = {}
    for cell in cells:
        why = context.executor.left_out(cell.implementation, cell.platform)
        if why is not None:
            found[f"{cell.benchmark.name}/{cell.implementation.name}"] = why
    return found


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fix", action="store_true", help="first install what is missing, where that is safe"
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


COMMAND = Command(
    name="doctor",
    summary="find what would stop a run here, and print the command that corrects it",
    takes=(*SELECTION, "--matrix", "--executor", "--results"),
    add_options=_add_options,
    examples=("doctor", "doctor --only dqn --json"),
    run=_run,
)
