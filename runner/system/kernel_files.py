"""Files in which a kernel describes its machine, as texts: of this machine, or of another that was asked for them."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

# The text of a file by its path; None where there is none, or where it may not be read.
Read = Callable[[str], str | None]

CPU = "/sys/devices/system/cpu"
ONLINE = f"{CPU}/online"
STAT = "/proc/stat"


def read_here(path: str) -> str | None:
    """The text of a file of this machine."""
    try:
        # Without a buffer, because a machine of many CPUs has hundreds of these files, and each is short.
        with Path(path).open("rb", buffering=0) as file:
            return file.read().decode("utf-8", errors="replace").strip()
    except OSError:
        return None


def integer(text: str | None) -> int | None:
    """A whole number; None where the text is another, or none."""
    return int(text) if text and text.lstrip("-").isdigit() else None


def flag(text: str | None) -> bool | None:
    """Whether a number is other than zero; None where there is none."""
    value = integer(text)
    return None if value is None else bool(value)


def processor_seconds(read: Read, fields: Sequence[int]) -> float | None:
    """What all processors spent since the start of the system; None where it is unknown.

    Args:
        read: the machine's files.
        fields: words of the line of all processors, which are added: 1 is that of user programs (proc(5)).
    """
    words = (read(STAT) or "").partition("\n")[0].split()
    if len(words) <= max(fields) or not all(words[field].isdigit() for field in fields):
        return None
    return sum(int(words[field]) for field in fields) / os.sysconf("SC_CLK_TCK")


def online(read: Read) -> tuple[int, ...]:
    """The numbers of a machine's CPUs; empty where they are unknown."""
    try:
        return tuple(numbers(read(ONLINE) or ""))
    except ValueError:
        return ()


def numbers(text: str) -> Iterable[int]:
    """The numbers of ``0-1,4``.

    Raises:
        ValueError: the text is no such list.
    """
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
