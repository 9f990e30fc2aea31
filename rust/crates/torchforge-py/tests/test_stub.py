"""The stub beside the module: nothing that type checkers read is of something else. Run: as the other tests."""

import ast
import inspect
import unittest
from pathlib import Path

import torchforge
from torchforge import _torchforge

STUB = Path(torchforge.__file__).parent / "_torchforge.pyi"


def stubbed():
    """Every function and class of the stub, by name; methods without special ones as `Class.method`."""
    found = {}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.setdefault(node.name, []).append(node)
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                    found.setdefault(f"{node.name}.{method.name}", []).append(method)
    return found


def parameters(function):
    """Name, kind and presence of a default, as the stub has them."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = len(positional) - len(arguments.defaults)
    found = [(each.arg, "POSITIONAL_OR_KEYWORD", index >= defaults) for index, each in enumerate(positional)]
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    found = [each for each in found if each[0] != "self"]
    return found + [(each.arg, "KEYWORD_ONLY", default is not None) for each, default in named]


def signature(function):
    """The same of what is compiled."""
    empty = inspect.Parameter.empty
    of = inspect.signature(function).parameters.values()
    return [(each.name, each.kind.name, each.default is not empty) for each in of if each.name != "self"]


class Stub(unittest.TestCase):
    def setUp(self):
        self.stub = stubbed()

    def test_it_holds_every_public_name_and_no_other(self):
        classes = [name for name in _torchforge.__all__ if isinstance(getattr(_torchforge, name), type)]
        methods = {
            f"{name}.{method}"
            for name in classes
            for method in vars(getattr(_torchforge, name))
            if not method.startswith("_")
        }
        self.assertEqual(set(self.stub), {*_torchforge.__all__, *methods} - {"__version__"})

    def test_parameters_are_those_of_the_module(self):
        for name, nodes in self.stub.items():
            value = _torchforge
            for part in name.split("."):
                value = getattr(value, part)
            if callable(value) and not isinstance(value, type):
                with self.subTest(name):
                    self.assertEqual({tuple(parameters(node)) for node in nodes}, {tuple(signature(value))})

    def test_everything_says_what_it_is_in_both_in_the_same_words(self):
        for name, nodes in self.stub.items():
            value = _torchforge
            for part in name.split("."):
                value = getattr(value, part)
            with self.subTest(name):
                said = inspect.getdoc(value)
                self.assertIn(said, [ast.get_docstring(node) for node in nodes])


if __name__ == "__main__":
    unittest.main()
