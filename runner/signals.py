"""Signal numbers and names, and the user's wish to stop as one kind of exception."""

import signal
from types import FrameType


def signal_name(number: int) -> str:
    """SIGKILL for 9; the number where the system knows no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def stop_on_terminate() -> None:
    """Make SIGTERM end the run the way Ctrl-C does: containers removed, finished records kept."""
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt
