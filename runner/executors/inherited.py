"""What a launch of the local executor gets of the runner's own environment: the names below and no others.

Anything else may hold a password, or change what is measured without a trace in the record.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from runner.executors.modules import own_python_first

_NAMES = frozenset(
    {
        # Where programs and their libraries are, whose they are, and where they may write.
        *("PATH", "LD_LIBRARY_PATH", "HOME", "USER", "LOGNAME", "TMPDIR"),
        # How text is encoded, and what time it is.
        *("LANG", "LANGUAGE", "TZ"),
        # What our own images set.
        *("PYTHONDONTWRITEBYTECODE", "TORCHINDUCTOR_CACHE_DIR", "QEMU_CPU"),
    }
)
_LOCALE = "LC_"
_MODULES = "PYTHONPATH"


def inherited(environment: Mapping[str, str], *, root: Path, inside_image: bool) -> dict[str, str]:
    """What every launch gets. On a host ``python3`` is the Python that runs this, with the packages that it has.

    Args:
        environment: the runner's own.
        root: the checkout, whose modules a launch finds.
        inside_image: whether the environment is an image's, which says where the image's own packages are.
    """
    kept = {name: value for name, value in environment.items() if name in _NAMES or name.startswith(_LOCALE)}
    modules = [str(root), *([environment[_MODULES]] if inside_image and environment.get(_MODULES) else [])]
    kept[_MODULES] = os.pathsep.join(modules)
    return kept if inside_image else own_python_first(kept)
