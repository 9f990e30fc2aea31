"""Commands as documents and workflows write them."""

import re
import shlex
from collections.abc import Iterator

_OPERATORS = frozenset({"|", "||", "&&", ";", "&", "(", ")", "|&"})
_REDIRECTIONS = frozenset({">", ">>", "<", ">&", "2>", "&>", "<<<"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)


def simple_commands(text: str) -> Iterator[list[str]]:
    """The words of each simple command of a shell text: no comments, assignments in front, or redirections."""
    for line in text.replace("\\\n", " ").splitlines():
        try:
            words = _words(line)
        except ValueError:
            # An open quote: not a line of shell.
            continue
        command: list[str] = []
        skip = False
        for word in [*words, ";"]:
            if skip:
                skip = False
            elif word in _REDIRECTIONS:
                skip = True
            elif word in _OPERATORS:
                yield from _started(command)
                command = []
            else:
                command.append(word)


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line.strip().removeprefix("$ "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


def _started(words: list[str]) -> Iterator[list[str]]:
    """The command without what stands in front of the program."""
    while words and (
        _ASSIGNMENT.fullmatch(words[0]) or words[0] in ("sudo", "time", "if", "then", "do", "exec")
    ):
        words = words[1:]
        while words and words[0].startswith("-"):
            words = words[1:]
    if words:
        yield words


def torchforge_arguments(words: list[str]) -> list[str] | None:
    """What a command hands to `torchforge`, which is all that an edge image holds, or None."""
    if words[0] == "torchforge":
        return words[1:]
    if words[:2] == ["docker", "run"]:
        for at, word in enumerate(words):
            if re.search(r"(^|/)forge-bench:edge\b", word):
                return words[at + 1 :]
    return None


def runner_arguments(words: list[str]) -> list[str] | None:
    """What a command hands to forge-bench's command line, or None where it does not call it."""
    program = words[0].rpartition("/")[2]
    if program == "forge-bench":
        return words[1:]
    if re.fullmatch(r"python3?(\.\d+)?", program) and words[1:3] == ["-m", "runner"]:
        return words[3:]
    if program == "docker" and words[1:2] == ["run"] and "--entrypoint" not in words:
        for at, word in enumerate(words):
            if re.search(r"(^|/)forge-bench([:@].+)?$", word):
                return words[at + 1 :]
    return None
