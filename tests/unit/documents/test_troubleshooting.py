"""The page of troubles has every error and every failure, and nothing that does not exist.

The table of failures is written from the code: ``FORGE_BENCH_UPDATE_GOLDEN=1 pytest tests/unit/documents``.
"""

import os
import re
from collections.abc import Iterator

from documents.markdown import ROOT, Document
from runner.records.failure import FailureKind
from runner.system.errors import ForgeBenchError

PAGE = ROOT / "TROUBLESHOOTING.md"
FAILURES = re.compile(r"(?<=<!-- failures -->\n).*?(?=<!-- end of failures -->)", re.DOTALL)


def errors() -> Iterator[type[ForgeBenchError]]:
    ahead: list[type[ForgeBenchError]] = [ForgeBenchError]
    while ahead:
        found = ahead.pop().__subclasses__()
        # A test may make an error of its own.
        yield from (each for each in found if each.__module__.startswith("runner."))
        ahead += found


def table_of(heading: str) -> list[list[str]]:
    """The rows of the first table below a heading, without its head."""
    text = Document(PAGE).prose
    section = text[text.index(f"\n{heading}\n") :].splitlines()
    start = next(number for number, line in enumerate(section) if line.startswith("|"))
    rows = []
    for line in section[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return rows


def test_every_error_stands_in_the_page_with_its_exit_code_and_no_other_does() -> None:
    named = {(row[0], row[1].strip("`")) for row in table_of("## Exit codes") if row[1]}
    assert named == {(str(each.exit_code), each.__name__) for each in errors()}


def test_the_errors_stand_in_the_order_of_their_codes_with_nothing_left_empty() -> None:
    rows = table_of("## Exit codes")
    codes = [int(row[0]) for row in rows]
    assert codes == sorted(codes)
    assert all(all(row) for row in rows if row[1])


def test_what_the_page_quotes_is_what_the_code_says() -> None:
    """Piece by piece: names and numbers of an example stand for what the code puts in there."""
    sources = " ".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "runner").rglob("*.py")))
    # A message that is wrapped over lines of source is one.
    sources = " ".join(re.sub(r'"\s+f?"', "", sources).split())
    examples = r'"[^"]*"|\S*\d\S*|…|torchrl|trixie|gea|matrix\.yaml|docker buildx|emulation|forge-bench:'
    quoted = [span for row in table_of("## Exit codes") for span in re.findall(r"`([^`]+)`", row[2])]
    pieces = [piece.strip(" ,;") for span in quoted for piece in re.split(examples, span)]
    assert [piece for piece in pieces if piece and piece not in sources] == []
    assert len(pieces) > len(list(errors()))


def test_every_failure_stands_in_the_page_as_the_code_explains_it() -> None:
    lines = ["| in the table | meaning | what to do |", "|---|---|---|"]
    lines += [
        f"| `{kind.value}` | {_escaped(kind.meaning)} | {_escaped(kind.advice)} |" for kind in FailureKind
    ]
    expected = "\n".join(lines) + "\n"
    text = PAGE.read_text(encoding="utf-8")
    if os.environ.get("FORGE_BENCH_UPDATE_GOLDEN"):
        text = FAILURES.sub(lambda _: expected, text)
        PAGE.write_text(text, encoding="utf-8")
    found = FAILURES.search(text)
    assert found is not None
    assert found[0] == expected


def _escaped(text: str) -> str:
    """No asterisk outside of code begins an emphasis."""
    return re.sub(r"(`[^`]*`)|\*", lambda found: found[1] or r"\*", text)


def test_errors_of_one_exit_code_are_the_users_own_mistakes() -> None:
    """A script tells kinds apart by the code; only a mistake in what was asked for shares one."""
    codes: dict[int, list[str]] = {}
    for each in errors():
        codes.setdefault(each.exit_code, []).append(each.__name__)
    assert {code: names for code, names in codes.items() if len(names) > 1}.keys() <= {2}
