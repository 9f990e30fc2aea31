"""jsonschema imports rfc3987_syntax, which builds dozens of grammars: two seconds of a processor for each worker.

They check formats (IRIs) that one test asks for. So the worker that runs this test builds them, at its first question.
"""

import importlib
import importlib.util
import sys
from types import ModuleType

_NAME = "rfc3987_syntax"


def register() -> None:
    """Put a module in its place whose one function imports the real one; nothing where it is not installed."""
    if _NAME in sys.modules or importlib.util.find_spec(_NAME) is None:
        return
    stand_in = ModuleType(_NAME)

    def is_valid_syntax(term: str, value: str) -> bool:
        if sys.modules.get(_NAME) is stand_in:
            del sys.modules[_NAME]
        return bool(importlib.import_module(_NAME).is_valid_syntax(term, value))

    stand_in.is_valid_syntax = is_valid_syntax  # type: ignore[attr-defined]  # a module made here
    sys.modules[_NAME] = stand_in
