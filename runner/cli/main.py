"""The entry point: it turns the command line into a command, and any failure into three lines and an exit code."""

import sys
from collections.abc import Sequence

from runner.cli.command_table import COMMANDS
from runner.cli.commands.base import Context
from runner.cli.words.introduction import INTRODUCTION
from runner.cli.words.options import parse
from runner.system.caller_limits import exhausted
from runner.system.checkout import ANYWHERE, require_checkout
from runner.system.errors import ForgeBenchError, Interrupted
from runner.system.signals import keep_statuses_of_children, stop_on_signals
from runner.system.space import refused
from runner.system.terminal import complain


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code. Results go to stdout, all other output to stderr."""
    stop_on_signals()
    keep_statuses_of_children()
    try:
        words = sys.argv[1:] if arguments is None else arguments
        options = parse(words, COMMANDS)
        if isinstance(options, str):
            print(options, end="")
            return 0
        if options.command not in ANYWHERE:
            require_checkout()
        return _call(Context(options, COMMANDS), options.command if words else None)
    except ForgeBenchError as error:
        complain(f"forge-bench: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        complain("\nforge-bench: interrupted; every finished cell is stored, run again to go on")
        return Interrupted.exit_code
    except OSError as error:
        failure = refused(error)
        if failure is None:
            raise
        complain(f"forge-bench: {failure}")
        return failure.exit_code
    except (MemoryError, ImportError, RuntimeError) as error:
        limited = exhausted(error)
        if limited is None:
            raise
        complain(f"forge-bench: {limited}")
        return limited.exit_code


def _call(context: Context, command: str | None) -> int:
    """Call a command, or without a word the default one. An image explains itself instead."""
    if command is None and context.inside_image:
        print(INTRODUCTION, end="")
        return 0
    return COMMANDS[command or "run"].run(context)
