"""A test that is skipped without standing on the list fails the call of pytest."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

TESTS = Path(__file__).parents[1]

SKIPPING = """
import pytest

@pytest.mark.parametrize("name", ["one", "two"])
def test_some(name):
    if name == "two":
        pytest.skip("needs a tape drive")

def test_well():
    pass
"""
LISTED = {"test": "tests/unit/test_it.py::test_some[two]", "reason": "needs a tape drive", "when": "never"}


@pytest.fixture
def call(tmp_path: Path):
    """pytest in a process of its own, over one test file, with the real hook and a list of our own."""

    def run(source: str, *listed: dict, arguments: tuple[str, ...] = ("tests/unit",)) -> tuple[int, str]:
        directory = tmp_path / "tests" / "unit"
        directory.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        shutil.copy(TESTS / "conftest.py", tmp_path / "tests")
        (tmp_path / "tests" / "skips.yaml").write_text(yaml.safe_dump(list(listed)))
        (directory / "test_it.py").write_text(source)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
            cwd=tmp_path,
            # The plugins of others have no part in it, and take longer to load than all else.
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_a_skip_that_is_not_listed_fails_the_call_and_is_named_with_its_reason(call):
    code, said = call(SKIPPING)
    assert code == 1
    assert "tests/unit/test_it.py::test_some[two]: needs a tape drive" in said
    assert "tests/skips.yaml" in said


def test_a_listed_skip_passes(call):
    code, said = call(SKIPPING, LISTED)
    assert code == 0
    assert "not listed" not in said


def test_several_processes_make_no_difference(call):
    arguments = ("-p", "xdist", "-n", "1", "tests/unit")
    assert call(SKIPPING, LISTED, arguments=arguments)[0] == 0
    code, said = call(SKIPPING, arguments=arguments)
    assert code == 1
    assert "tests/unit/test_it.py::test_some[two]: needs a tape drive" in said


def test_a_listed_test_that_skips_for_another_reason_fails_the_call(call):
    assert call(SKIPPING, LISTED | {"reason": "needs a punched card"})[0] == 1


def test_a_star_stands_for_anything_and_brackets_for_themselves(call):
    assert call(SKIPPING, LISTED | {"test": "tests/unit/*[*]", "reason": "needs a * drive"})[0] == 0
    assert call(SKIPPING, LISTED | {"test": "tests/unit/test_it.py::test_some[w]"})[0] == 1


def test_a_skipped_module_and_an_expected_failure_count_too(call):
    code, said = call("import pytest\npytest.skip('no tape', allow_module_level=True)\n")
    assert code == 1
    assert "tests/unit/test_it.py: no tape" in said
    code, said = call("import pytest\n@pytest.mark.xfail(reason='some day')\ndef test_x(): assert False\n")
    assert code == 1
    assert "tests/unit/test_it.py::test_x: xfail: some day" in said


def test_the_root_of_the_call_makes_no_difference(call):
    arguments = ("--rootdir", "tests", "--confcutdir", "tests", "tests/unit")
    assert call(SKIPPING, LISTED, arguments=arguments)[0] == 0
    assert call(SKIPPING, arguments=arguments)[0] == 1


def test_a_failure_stays_a_failure(call):
    assert call(SKIPPING + "\ndef test_bad(): assert False\n", LISTED)[0] == 1


def test_an_entry_without_a_reason_or_a_when_is_refused(call):
    code, said = call(SKIPPING, {"test": "*", "reason": "any"})
    assert code == 4
    assert "needs reason, test, when" in said


def test_the_list_names_tests_that_exist():
    for entry in yaml.safe_load((TESTS / "skips.yaml").read_text(encoding="utf-8")):
        path, _, name = entry["test"].partition("::")
        source = (TESTS.parent / path).read_text(encoding="utf-8")
        # Up to the first star or parameter; a name is whole where neither follows.
        stem, rest = re.fullmatch(r"([^*[]*)(.*)", name).groups()
        assert re.search(rf"def {re.escape(stem)}" + (r"" if rest.startswith("*") else r"\("), source), entry
