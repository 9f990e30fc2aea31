"""The variables that a local launch inherits from the runner's environment: the names below and no others.

Any other variable may hold a password, or change the measurement without a trace in the record.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from runner.executors.modules import own_python_first

_NAMES = frozenset(
    {
        # The places of programs and libraries, the user, and the places for written files.
        *("PATH", "LD_LIBRARY_PATH", "HOME", "USER", "LOGNAME", "TMPDIR"),
        # The text encoding and the time zone.
        *("LANG", "LANGUAGE", "TZ"),
        # The variables that our images set.
        *("PYTHONDONTWRITEBYTECODE", "TORCHINDUCTOR_CACHE_DIR", "QEMU_CPU"),
    }
)
_LOCALE = "LC_"
_MODULES = "PYTHONPATH"


def inherited(environment: Mapping[str, str], *, root: Path, inside_image: bool) -> dict[str, str]:
    """The environment of every launch. On a host ``python3`` is the Python that runs this runner, with its packages.

    Args:
        environment: the runner's own.
        root: the checkout, whose modules a launch finds.
        inside_image: whether the environment is an image's, which names the places of the image's packages.
    """
    kept = {name: value for name, value in environment.items() if name in _NAMES or name.startswith(_LOCALE)}
    modules = [str(root), *([environment[_MODULES]] if inside_image and environment.get(_MODULES) else [])]
    kept[_MODULES] = os.pathsep.join(modules)
    return kept if inside_image else own_python_first(kept)
