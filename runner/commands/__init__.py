"""The commands: one module each, found by name in this table alone."""

from runner.commands import build, compare, doctor, listing, plan, render, run, setup, verify
from runner.commands.base import Command

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        run.COMMAND,
        plan.COMMAND,
        build.COMMAND,
        render.COMMAND,
        compare.COMMAND,
        verify.COMMAND,
        listing.COMMAND,
        setup.COMMAND,
        doctor.COMMAND,
    )
}
