"""Checks of the running Python, made before any module is imported that it may lack."""

# A Python that is too old must not evaluate the annotations below.
from __future__ import annotations

import sys

from runner.system.errors import PythonNotReady

_OLDEST = (3, 11)
_FIX = "make setup, which makes .venv from uv.lock; then call .venv/bin/python -m runner"


def too_old() -> PythonNotReady | None:
    """The error text for a Python that is too old for the runner; None where it is new enough."""
    version = sys.version_info
    if version[:2] >= _OLDEST:
        return None
    return PythonNotReady(
        what=f"Python {version[0]}.{version[1]} is too old for forge-bench",
        why=f"{sys.executable} runs it; it needs {_OLDEST[0]}.{_OLDEST[1]} or newer",
        fix=f"install one, then make setup PYTHON=python{_OLDEST[0]}.{_OLDEST[1]}, and call .venv/bin/python -m runner",
    )


def lacking(error: ModuleNotFoundError) -> PythonNotReady | None:
    """The error text for a missing third-party module.

    None for a module of forge-bench, whose absence is a defect.
    """
    name = (error.name or "").partition(".")[0]
    if name in ("", "runner"):
        return None
    return PythonNotReady(
        what=f"the Python that runs forge-bench lacks the module {name}",
        why=f"{sys.executable} is not the environment that make setup makes, or not all of it",
        fix=_FIX,
    )
