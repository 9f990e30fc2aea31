"""``python -m runner``, and the program ``forge-bench``: one process from its first module to its exit code."""

import contextlib
import os
import signal
import sys

# What all commands read takes half of it.
_LEAST_BYTES = 64 * 2**20
_NO_MEMORY = b"""forge-bench: the memory does not suffice to read the runner
  why: this process may use less than it needs (ulimit -v and -d), or the machine has no more
  to do: raise that limit where the runner is called, then run again: finished cells are stored
"""


def main() -> int:
    """Run the command line of this process and return its exit code."""
    try:
        return _process() if _has_room() else _without_room()
    except MemoryError:
        return _without_room()


def _has_room() -> bool:
    """Whether the modules of the runner find room: some of them print a traceback of their own where they do not."""
    try:
        import mmap  # noqa: PLC0415 (its library may find no room either)

        mmap.mmap(-1, _LEAST_BYTES).close()
    except (ImportError, OSError, MemoryError):
        return False
    return True


def _without_room() -> int:
    # Without any module: what tells of it takes the least there is.
    with contextlib.suppress(OSError):
        os.write(2, _NO_MEMORY)
    return 25


def _process() -> int:
    # Until there is something to tidy up, an interrupt ends this process as it ends any other: without a traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from runner.system.interpreter import too_old  # noqa: PLC0415 (after the signal)

    if refused := too_old():
        print(f"forge-bench: {refused}", file=sys.stderr)  # noqa: T201 (nothing of ours is read yet)
        return refused.exit_code
    # What follows is read by Python 3.11 and newer.
    from runner.system.standard_streams import take_standard_streams  # noqa: PLC0415 (as above)
    from runner.system.terminal import complain  # noqa: PLC0415 (as above)

    stdout = take_standard_streams()
    return stdout.exit_code(_command(), complain)


def _command() -> int:
    from runner.system.interpreter import lacking  # noqa: PLC0415 (as in main)
    from runner.system.signals import ignore_signals, stop_on_signals  # noqa: PLC0415 (as in main)
    from runner.system.terminal import complain  # noqa: PLC0415 (as in main)

    # A second's worth of modules is read after this: to stop meanwhile is no traceback either.
    stop_on_signals()
    try:
        from runner.cli.main import main as run  # noqa: PLC0415 (after the signals)

        return run()
    except KeyboardInterrupt:
        return 130
    except ModuleNotFoundError as error:
        refused = lacking(error)
        if refused is None:
            raise
        complain(f"forge-bench: {refused}")
        return refused.exit_code
    finally:
        # All is done: what the interpreter has left to do must not turn this code into another.
        ignore_signals()


if __name__ == "__main__":
    sys.exit(main())
