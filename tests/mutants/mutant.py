"""One mutation: which text of which file becomes which other, and the tests that must fail then."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

LIST = Path(__file__).with_name("mutants.yaml")


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """``was`` stands exactly once in ``file``; paths are below the root of a checkout."""

    name: str
    file: str
    was: str
    becomes: str
    killed_by: str

    @contextmanager
    def made_in(self, root: Path) -> Iterator[None]:
        """The mutated file for the length of the block, and the original after it, however the block ends.

        Raises:
            ValueError: the text to be replaced does not stand in the file exactly once.
        """
        path = root / self.file
        original = path.read_text(encoding="utf-8")
        if original.count(self.was) != 1:
            raise ValueError(f"{self.name}: {self.file} holds {original.count(self.was)} times: {self.was}")
        path.write_text(original.replace(self.was, self.becomes), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(original, encoding="utf-8")


def read_mutants(path: Path = LIST) -> tuple[Mutant, ...]:
    """The committed list."""
    return tuple(Mutant(**entry) for entry in yaml.safe_load(path.read_text(encoding="utf-8")))
