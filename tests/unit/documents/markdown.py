"""The documents of the repository, and as much of Markdown as they use."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[3]

_FENCE = re.compile(r"^(\s*)(```+|~~~+)\s*([^\s`]*)\s*$")
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_INLINE_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^()\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_REFERENCE_USE = re.compile(r"\[((?:[^\[\]])+)\]\[([^\]]*)\]")
_REFERENCE = re.compile(r"^ {0,3}\[([^\]]+)\]:\s*(\S+)", re.MULTILINE)
_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")


@dataclass(frozen=True)
class Block:
    """A block of code: ``language`` is empty for an indented one and None for a fence without a language."""

    line: int
    language: str | None
    text: str


@dataclass(frozen=True)
class Document:
    """One Markdown file."""

    path: Path

    def __str__(self) -> str:
        return str(self.path.relative_to(ROOT))

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def _parts(self) -> tuple[str, tuple[Block, ...]]:
        """The prose, with a blank line for each line of code, and the blocks of code."""
        prose: list[str] = []
        blocks: list[Block] = []
        lines = self.text.splitlines()
        number = 0
        while number < len(lines):
            line = lines[number]
            fence = _FENCE.match(line)
            if fence:
                end = next(
                    (at for at in range(number + 1, len(lines)) if lines[at].strip() == fence[2]), len(lines)
                )
                inside = "\n".join(lines[number + 1 : end])
                blocks.append(Block(number + 1, fence[3] or None, inside))
                prose += [""] * (end - number + 1)
                number = end + 1
            elif line.startswith("    ") and line.strip() and not (prose and prose[-1].strip()):
                end = number
                while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                    end += 1
                # Under an item of a list four spaces are the item's own.
                if _in_list(prose):
                    prose += lines[number:end]
                else:
                    blocks.append(Block(number + 1, "", "\n".join(each[4:] for each in lines[number:end])))
                    prose += [""] * (end - number)
                number = end
            else:
                prose.append(line)
                number += 1
        return "\n".join(prose), tuple(blocks)

    @property
    def prose(self) -> str:
        """The text without its blocks of code and comments; line numbers are the file's."""
        return re.sub(
            r"<!--.*?-->", lambda found: "\n" * found[0].count("\n"), self._parts[0], flags=re.DOTALL
        )

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of code."""
        return self._parts[1]

    @property
    def spans(self) -> tuple[str, ...]:
        """Code within prose; where it was wrapped, on one line."""
        return tuple(" ".join(found[2].split()) for found in _SPAN.finditer(self.prose))

    @property
    def words(self) -> str:
        """The prose without its code."""
        return _SPAN.sub("", self.prose)

    @property
    def links(self) -> tuple[str, ...]:
        """Where the links lead: inline ones, and definitions of references."""
        inline = [found[1] for found in _INLINE_LINK.finditer(self.words)]
        return (*inline, *(found[2] for found in _REFERENCE.finditer(self.words)))

    @property
    def undefined_references(self) -> tuple[str, ...]:
        """References that are used and nowhere defined."""
        defined = {found[1].lower() for found in _REFERENCE.finditer(self.words)}
        used = [found[2] or found[1] for found in _REFERENCE_USE.finditer(self.words)]
        return tuple(each for each in used if each.lower() not in defined)

    @property
    def headings(self) -> tuple[tuple[int, str], ...]:
        """Level and text of each heading."""
        return tuple(
            (len(found[1]), found[2])
            for line in self.prose.splitlines()
            if (found := _HEADING.match(line)) is not None
        )

    @property
    def anchors(self) -> frozenset[str]:
        """What a link to this page may name behind #, as GitHub makes it from headings."""
        found: dict[str, int] = {}
        result = set()
        for _, heading in self.headings:
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
            anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
            again = found.get(anchor, 0)
            found[anchor] = again + 1
            result.add(f"{anchor}-{again}" if again else anchor)
        return frozenset(result)

    def tables(self) -> Iterator[list[list[str]]]:
        """Each table, as rows of cells; the line of dashes is the second row."""
        rows: list[list[str]] = []
        for line in [*self.prose.splitlines(), ""]:
            if line.lstrip().startswith("|"):
                rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]])
            elif rows:
                yield rows
                rows = []


def _in_list(prose: list[str]) -> bool:
    """Whether the last paragraph that is not indented is an item of a list."""
    for line in reversed(prose):
        if line.strip() and not line.startswith(" "):
            return re.match(r"([-*+]|\d+\.) ", line) is not None
    return False


def documents() -> list[Document]:
    """Every Markdown file that people write; rendered pages and golden files are tested elsewhere."""
    folders = (
        *(ROOT, ROOT / "baselines", ROOT / "rust", ROOT / "docs", ROOT / "docs" / "decisions"),
        *(ROOT / "results" / "published", ROOT / ".github"),
    )
    return [Document(path) for folder in folders for path in sorted(folder.glob("*.md"))]
