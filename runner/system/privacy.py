"""Facts about this host are removed from programs' texts before storing, because records and logs may be published.

Programs in a container see no such facts. The local executor's processes see the checkout, the temporary directory
and the home directory. Their tracebacks name those paths.
"""

import re
import socket
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
# Every host has these names, and so do images: they reveal nothing.
_COMMON_PLACES = frozenset({"/", "/root", "/opt/forge-bench", "/tmp", "/var/tmp"})  # noqa: S108 (nothing is written there)
_SHORTEST_NAME = 6


def without_host(text: str) -> str:
    """``text`` with the host's own directories and name replaced by words for them."""
    for pattern, word in _private():
        text = pattern.sub(word, text)
    return text


@cache
def _private() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The longest path comes first, because a checkout may lie in the home directory."""
    found = sorted(set(_words()), key=lambda each: -len(each[0]))
    return tuple((re.compile(rf"(?<![\w.-]){re.escape(value)}(?![\w-])"), word) for value, word in found)


def _words() -> Iterator[tuple[str, str]]:
    temporary = Path(tempfile.gettempdir())
    for path, word in (
        (_ROOT, "<checkout>"),
        (temporary, "<temporary>"),
        (temporary.resolve(), "<temporary>"),
        (Path.home(), "~"),
    ):
        if str(path) not in _COMMON_PLACES:
            yield str(path), word
    name = socket.gethostname()
    # A short host name is also a word: "vm" occurs in many messages.
    if len(name) >= _SHORTEST_NAME and name != "localhost":
        yield name, "<host>"
