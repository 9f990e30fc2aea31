"""No test is skipped in silence: skips.yaml names those that may be, and any other fails the whole call.

It covers every tree of tests. An expected failure (xfail) counts as skipped: it shows nothing either.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

SKIPS = Path(__file__).with_name("skips.yaml")
_KEYS = {"test", "reason", "when"}


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """One entry of the list."""

    test: str
    reason: str

    def covers(self, test: str, reason: str) -> bool:
        return _matches(self.test, test) and _matches(self.reason, reason)


def read_allowed(path: Path) -> list[Allowed]:
    """The list.

    Raises:
        pytest.UsageError: it is not one, or an entry lacks a part.
    """
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(entries, list):
        raise pytest.UsageError(f"{path} is not a list")
    for entry in entries:
        complete = isinstance(entry, dict) and entry.keys() == _KEYS
        if not complete or not all(isinstance(text, str) and text.strip() for text in entry.values()):
            raise pytest.UsageError(
                f"{path}: an entry needs {', '.join(sorted(_KEYS))}, each a text: {entry}"
            )
    return [Allowed(test=entry["test"], reason=entry["reason"]) for entry in entries]


class SkipsAreListed:
    """Collects what was skipped and fails the session for what is not on the list."""

    def __init__(self, allowed: Sequence[Allowed]) -> None:
        self._allowed = allowed
        self._unlisted: dict[tuple[str, str], None] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._look(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._look(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._unlisted and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._unlisted:
            return
        terminalreporter.section("skipped and not listed", red=True, bold=True)
        for test, reason in self._unlisted:
            terminalreporter.write_line(f"{test}: {reason}")
        terminalreporter.write_line(f"A skip stands in {SKIPS.parent.name}/{SKIPS.name}, or it is a failure.")

    def _look(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        if not report.skipped:
            return
        # Always below tests/, wherever the call was made and whatever the root was then.
        test = re.sub(r"^(?!tests/)", "tests/", report.nodeid)
        reason = _reason(report)
        if not any(entry.covers(test, reason) for entry in self._allowed):
            self._unlisted.setdefault((test, reason))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SkipsAreListed(read_allowed(SKIPS)), "skips-are-listed")


def _reason(report: pytest.CollectReport | pytest.TestReport) -> str:
    expected: str | None = getattr(report, "wasxfail", None)
    if expected is not None:
        return f"xfail: {expected.removeprefix('reason: ')}".strip()
    # A skip's report holds the file, the line and "Skipped: reason".
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ").strip()


def _matches(pattern: str, text: str) -> bool:
    # Not fnmatch: the brackets of a parametrised test are only brackets.
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None
