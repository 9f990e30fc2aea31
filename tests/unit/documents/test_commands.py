"""Every command that a document names exists and takes what it is given."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from documents.markdown import ROOT, Document, documents
from documents.shell import runner_arguments, simple_commands, torchforge_arguments
from runner.cli.command_table import COMMANDS
from runner.cli.words.options import Options, parse
from runner.system.errors import UsageError
from tools import command_page

FORGE = ROOT / ".github"
# Not in a checkout: written by a build or a run.
WRITTEN = ("results/local", "results/baselines", ".venv", "rust/target")


@cache
def make_targets() -> frozenset[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    rules = re.findall(r"^([A-Za-z.][^:=\n]*):(?!=)", text, re.MULTILINE)
    return frozenset(word for rule in rules for word in rule.split()) - {".PHONY"}


@cache
def benchmarks() -> frozenset[str]:
    matrix = yaml.safe_load((ROOT / "matrix.yaml").read_text(encoding="utf-8"))
    return frozenset(matrix["benchmarks"])


@cache
def torchforge_options() -> frozenset[str]:
    """The options that its usage names."""
    source = (ROOT / "rust/crates/torchforge-bench/src/arguments.rs").read_text(encoding="utf-8")
    [usage] = re.findall(r'USAGE: &str = "(.+?)";', source, re.DOTALL)
    return frozenset(re.findall(r"--[a-z-]+", usage)) | {"--help"}


def faults(text: str) -> Iterator[str]:
    """What is wrong with the commands of a shell text, a line each."""
    for words in simple_commands(text):
        line = " ".join(words)
        arguments = runner_arguments(words)
        if (handed := torchforge_arguments(words)) is not None:
            unknown = [each for each in handed if each.startswith("-") and each not in torchforge_options()]
            yield from (f"{line}: torchforge has no {each}" for each in unknown)
        elif arguments is not None:
            if fault := fault_of_runner(arguments):
                yield f"{line}: {fault}"
        elif words[0] == "make":
            targets = [word for word in words[1:] if "=" not in word and not word.startswith("-")]
            yield from (f"{line}: no target {each}" for each in targets if each not in make_targets())
        else:
            yield from fault_of_paths(words)


def fault_of_runner(arguments: list[str]) -> str | None:
    """Why forge-bench would refuse these arguments, or None."""
    try:
        options = parse(arguments, COMMANDS)
    except UsageError as error:
        return error.what
    if isinstance(options, Options) and options.benchmark is not None:
        # A word in capitals stands for something that the reader puts in.
        known = options.benchmark in benchmarks() or options.benchmark.isupper()
        return None if known else f'"{options.benchmark}" is neither a command nor a benchmark'
    return None


def fault_of_paths(words: list[str]) -> Iterator[str]:
    """Scripts, modules and tests of ours that are called and not there."""
    if words[1:2] == ["-m"] and words[2:] and words[2].startswith("tests."):
        folder = ROOT / words[2].replace(".", "/")
        if not (folder / "__main__.py").is_file():
            yield f"{' '.join(words)}: no module {words[2]}"
    for word in words:
        path, _, name = word.partition("::")
        if re.match(r"(\./)?(tests|\.github|\.ci|rust|docker|templates)/", path) and "*" not in path:
            if not (ROOT / path).exists():
                yield f"{' '.join(words)}: no {path}"
            elif name and not re.search(rf"^def {name}\b", (ROOT / path).read_text(encoding="utf-8"), re.M):
                yield f"{' '.join(words)}: no test {name}"


def workflow_runs(path: Path) -> Iterator[str]:
    """The shell of every step of a workflow."""
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return (step["run"] for job in jobs.values() for step in job.get("steps", ()) if "run" in step)


def form_texts(path: Path) -> Iterator[str]:
    """Every text of an issue form, at any depth."""

    def walk(value: object) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            for each in value.values():
                yield from walk(each)
        elif isinstance(value, list):
            for each in value:
                yield from walk(each)

    return walk(yaml.safe_load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("document", documents(), ids=str)
def test_commands_in_blocks_of_code_exist_and_take_their_options(document: Document) -> None:
    shell = [block.text for block in document.blocks if block.language in ("", "sh")]
    assert [fault for text in shell for fault in faults(text)] == []


@pytest.mark.parametrize("document", documents(), ids=str)
def test_commands_within_prose_exist_and_take_their_options(document: Document) -> None:
    wrong = [fault for span in document.spans for fault in faults(span)]
    for span in document.spans:
        words = span.split()
        # `doctor --fix`, said shortly.
        if words[0] in COMMANDS and len(words) > 1 and (fault := fault_of_runner(words)):
            wrong.append(f"{span}: {fault}")
    assert wrong == []


@pytest.mark.parametrize("path", sorted(FORGE.rglob("*.yml")), ids=lambda path: path.name)
def test_commands_of_workflows_and_issue_forms_exist(path: Path) -> None:
    texts = workflow_runs(path) if path.parent.name == "workflows" else form_texts(path)
    found = []
    for text in texts:
        if path.parent.name == "ISSUE_TEMPLATE":
            found += [fault for span in re.findall(r"`([^`]+)`", text) for fault in faults(span)]
        else:
            found += faults(text)
    assert found == []


def test_the_page_of_commands_is_what_the_command_line_takes() -> None:
    assert command_page.page() == command_page.PAGE.read_text(encoding="utf-8"), (
        "write it anew: .venv/bin/python -m tools.command_page --write"
    )
    assert "None" not in command_page.page()


def test_the_readme_fits_on_few_screens() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("document", documents(), ids=str)
def test_paths_within_prose_are_there(document: Document) -> None:
    top = {path.name for path in ROOT.iterdir()}
    lost = []
    for span in document.spans:
        match = re.fullmatch(r"(\.?[\w.-]+)(/[\w.*=-]+)*/?", span)
        if match is None or match[1] not in top or "/" not in span or span.startswith(WRITTEN):
            continue
        if any(re.fullmatch(r"[A-Z]+(-[A-Z]+)*", part) for part in span.split("/")):
            # A word in capitals stands for something that the reader puts in.
            continue
        if not any(True for _ in ROOT.glob(span.rstrip("/"))):
            lost.append(span)
    assert lost == []


@pytest.mark.parametrize("document", documents(), ids=str)
def test_environment_variables_within_prose_are_read_somewhere(document: Document) -> None:
    named = {name for text in (document.text,) for name in re.findall(r"\bFORGE_BENCH_[A-Z_]+\b", text)}
    sources = [
        path
        for folder in ("runner", "baselines", "rust/crates", "docker", "tests")
        for path in _sources(folder)
    ]
    read = {
        name for path in sources for name in re.findall(r"\bFORGE_BENCH_[A-Z_]+\b", path.read_text("utf-8"))
    }
    assert named - read == set()


def _sources(folder: str) -> Iterator[Path]:
    return (
        path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".rs", ".sh") and path.is_file()
    )


def test_the_check_of_commands_finds_what_does_not_exist() -> None:
    wrong = """
        make matrix plans          # a target that is not there
        .venv/bin/python -m runner --archs arm64
        docker run --rm forge-bench dqns --profile smoke
        cd x && sudo forge-bench plan --jsn | head
        .venv/bin/pytest tests/unit/nowhere
        sudo .venv/bin/python -m tests.nothing --runs 3
    """
    assert len(list(faults(wrong))) == 6
    assert list(faults("make matrix && python -m runner plan --json > plan.json  # make nothing")) == []
    assert {"matrix", "lint", "unit", ".venv/.ready"} <= make_targets()
