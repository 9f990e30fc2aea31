"""``python -m runner``, and the program ``forge-bench``: one process from its first module to its exit code."""

import signal
import sys


def main() -> int:
    """Run the command line of this process and return its exit code."""
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
