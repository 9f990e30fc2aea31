"""What the public forge reads: valid by its schemas, pinned, and with no more rights than it needs."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import check_jsonschema
import pytest
import yaml

from documents.markdown import ROOT

FORGE = ROOT / ".github"
FORMS = sorted((FORGE / "ISSUE_TEMPLATE").glob("[0-9]*.yml"))
WORKFLOWS = sorted((FORGE / "workflows").glob("*.yml"))
USES = re.compile(r"uses: (\S+)(.*)")


def load(path: Path) -> dict[str, Any]:
    # BaseLoader: the key "on" stays a word.
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506 (texts alone)


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in load(path)["jobs"].values():
        yield from job.get("steps", ())


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", WORKFLOWS),
        ("github-issue-forms", FORMS),
        ("github-issue-config", [FORGE / "ISSUE_TEMPLATE" / "config.yml"]),
        ("dependabot", [FORGE / "dependabot.yml"]),
    ],
)
def test_files_of_the_forge_are_valid_by_its_schemas(
    schema: str, files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert files
    with pytest.raises(SystemExit) as ended:
        check_jsonschema.main(["--builtin-schema", f"vendor.{schema}", *map(str, files)])
    assert ended.value.code == 0, capsys.readouterr()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_to_a_commit_and_says_its_version(path: Path) -> None:
    for name, rest in USES.findall(path.read_text(encoding="utf-8")):
        if not name.startswith("./"):
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", name)
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", rest)
        else:
            assert (ROOT / name).is_file()


def test_an_action_has_one_commit_throughout() -> None:
    pins: dict[str, set[str]] = {}
    for path in WORKFLOWS:
        for name, rest in USES.findall(path.read_text(encoding="utf-8")):
            action, _, commit = name.partition("@")
            pins.setdefault(action, set()).add(commit + rest)
    assert all(len(each) == 1 for each in pins.values()), pins


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_no_right_and_each_job_names_its_own(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] == {}
    assert "concurrency" in workflow
    for name, job in workflow["jobs"].items():
        assert isinstance(job["permissions"], dict), name
        assert "uses" in job or "timeout-minutes" in job, name


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_no_secret_is_used_and_no_text_of_a_stranger_becomes_shell(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "secrets." not in text
    assert "pull_request_target" not in text
    assert not [step["run"] for step in steps(path) if "${{" in step.get("run", "")]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_checkout_leaves_no_credentials_behind(path: Path) -> None:
    checkouts = [step for step in steps(path) if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts
    assert all(step["with"]["persist-credentials"] == "false" for step in checkouts)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_jobs_wait_for_jobs_that_exist(path: Path) -> None:
    jobs = load(path)["jobs"]
    needed = {need for job in jobs.values() for need in _list(job.get("needs", []))}
    assert needed <= jobs.keys()


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def test_pins_that_stand_in_several_places_are_the_same() -> None:
    matrix = yaml.safe_load((ROOT / "matrix.yaml").read_text(encoding="utf-8"))
    uv = re.match(r"uv==(\S+) ", (ROOT / "docker" / "uv.txt").read_text(encoding="utf-8"))
    assert uv is not None
    pins = {"RUSTUP_TOOLCHAIN": next(iter(matrix["toolchains"].values()))["rust"], "UV_VERSION": uv[1]}
    stated = [load(path).get("env", {}) for path in WORKFLOWS]
    assert any(stated)
    for environment in stated:
        assert environment.items() <= pins.items()


def test_scripts_of_workflows_are_executable() -> None:
    scripts = sorted((FORGE / "scripts").iterdir())
    assert [path.name for path in scripts if not os.access(path, os.X_OK) and path.is_file()] == []


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_a_form_asks_for_each_thing_once(path: Path) -> None:
    body = load(path)["body"]
    identifiers = [element["id"] for element in body if element["type"] != "markdown"]
    assert len(identifiers) == len(set(identifiers))


def test_the_forms_ask_for_what_an_answer_needs() -> None:
    asked = {path.name: json.dumps(load(path)) for path in FORMS}
    assert "verify RECORD" in asked["3_reproduction_report.yml"]
    assert "doctor --json" in asked["3_reproduction_report.yml"]
    assert "doctor --json" in asked["1_bug_report.yml"]
    challenge = {
        element["id"]: element for element in load(FORMS[3])["body"] if element["type"] != "markdown"
    }
    for needed in ("figure", "records", "unfair", "fair", "evidence"):
        assert challenge[needed]["validations"]["required"] == "true"


def test_before_a_commit_runs_what_make_lint_runs() -> None:
    configuration = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook for repository in configuration["repos"] for hook in repository["hooks"]]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    rule = re.search(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert rule is not None
    for line in rule[1].splitlines():
        tool = line.strip().removesuffix(" .")
        assert any(hook.get("entry", "").startswith(tool) for hook in hooks), tool
