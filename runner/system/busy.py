"""How busy a machine is right now. The kernel's averages still hold the launch that ended just before."""

import time
from collections.abc import Callable

from runner.system.kernel_files import Read, processor_seconds

# Ten ticks of each processor: long enough to tell an idle machine, and short beside any launch.
_SAMPLE_SECONDS = 0.1
# Fields of the line of all processors: user, nice, system, interrupts. Idle, waiting and stolen time are left out.
_BUSY = (1, 2, 3, 6, 7)


def busy_processors(
    read: Read,
    *,
    wait: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> float | None:
    """How many processors were busy while this process waited for a tenth of a second.

    Returns:
        Their number, rounded to hundredths; None where the kernel does not tell.
    """
    began, before = now(), processor_seconds(read, _BUSY)
    if before is None:
        return None
    wait(_SAMPLE_SECONDS)
    after, seconds = processor_seconds(read, _BUSY), now() - began
    return None if after is None or seconds <= 0 else round((after - before) / seconds, 2)
