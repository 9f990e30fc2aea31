"""A matrix reads alike with libyaml and without it."""

import pytest
import yaml

from runner.matrix import source
from tests.fuzz import corpus

WITH_LIBYAML = source._Loader


@pytest.mark.parametrize("text", [each.decode("utf-8-sig") for each in corpus.matrices()], ids=range(6))
def test_data_and_lines_are_those_of_the_parser_in_python(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert WITH_LIBYAML is not yaml.SafeLoader, "this PyYAML has no libyaml: install it from its wheel"
    fast = source.read_source(text)
    monkeypatch.setattr(source, "_Loader", yaml.SafeLoader)
    assert source.read_source(text) == fast
