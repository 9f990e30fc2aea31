"""The folds of a page, apart from what renders one: a terminal shows pages without reading any template."""

import re

# The lines of a template around what is folded.
_FOLD = re.compile(r"^(<details>\n<summary>[^\n]*</summary>|</details>)\n\n?", re.MULTILINE)


def without_folds(page: str) -> str:
    """A page without the lines that fold parts of it, for a reader who cannot unfold them."""
    return _FOLD.sub("", page)
