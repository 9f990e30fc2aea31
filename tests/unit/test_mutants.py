"""The list of mutants fits the code, and the program that makes them notices a survivor."""

from pathlib import Path

import pytest

from tests.mutants.__main__ import Fate, fate_of
from tests.mutants.mutant import Mutant, read_mutants

ROOT = Path(__file__).parents[2]
MUTANTS = read_mutants()
TESTS = (
    "from sample import is_more\n\ndef test_more():\n    assert is_more(2, 1)\n    assert not is_more(1, 1)\n"
)


def mutant(becomes: str) -> Mutant:
    return Mutant(name="one", file="sample.py", was="a > b", becomes=becomes, killed_by="test_sample.py")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "sample.py").write_text("def is_more(a, b):\n    return a > b\n", encoding="utf-8")
    (tmp_path / "test_sample.py").write_text(TESTS, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("each", MUTANTS, ids=lambda each: each.name)
def test_a_mutants_text_stands_once_in_its_file_and_its_tests_exist(each):
    assert (ROOT / each.file).read_text(encoding="utf-8").count(each.was) == 1
    assert (ROOT / each.killed_by).is_file()
    assert each.becomes != each.was


def test_names_of_mutants_are_unique():
    assert len({each.name for each in MUTANTS}) == len(MUTANTS) >= 20


@pytest.mark.parametrize(
    ("becomes", "fate"),
    [("a >= b", Fate.KILLED), ("b < a", Fate.SURVIVED), ("a >", Fate.BROKEN)],
)
def test_only_failed_tests_kill_and_the_file_is_restored(checkout, becomes, fate):
    before = (checkout / "sample.py").read_bytes()
    assert fate_of(mutant(becomes), checkout) is fate
    assert (checkout / "sample.py").read_bytes() == before


def test_a_file_is_restored_after_an_interruption(checkout):
    before = (checkout / "sample.py").read_bytes()

    def interrupted() -> None:
        with mutant("a >= b").made_in(checkout):
            assert (checkout / "sample.py").read_bytes() != before
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (checkout / "sample.py").read_bytes() == before


def test_a_text_that_is_not_there_is_an_error(checkout):
    (checkout / "sample.py").write_text("def is_more(a, b):\n    return b < a\n", encoding="utf-8")
    with pytest.raises(ValueError, match="holds 0 times"), mutant("a >= b").made_in(checkout):
        pass
