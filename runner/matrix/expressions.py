"""The arithmetic in which a matrix states expected counts: integers, names, ``+ - * //``, parentheses.

Python's own parser parses the text. The evaluator accepts a closed list of node types, so no other code can run.
Texts are short and numbers stay below 2**53 at every step, so time and memory are bounded.
"""

import ast
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

_LONGEST = 200
_LARGEST = 2**53


class ExpressionError(ValueError):
    """The text is not such an expression, or has no value for these parameters."""


def names_in(text: str) -> frozenset[str]:
    """The parameter names that ``text`` uses.

    Raises:
        ExpressionError: ``text`` is not an expression of this kind.
    """
    return frozenset(_names(_parse(text)))


def evaluate(text: str, parameters: Mapping[str, Any]) -> int:
    """The value of ``text`` with ``parameters`` for its names.

    Raises:
        ExpressionError: ``text`` is not an expression of this kind, a name is missing or not an integer, a
            value reaches 2**53, or a divisor is zero.
    """
    return _value(_parse(text), parameters)


@lru_cache(maxsize=256)
def _parse(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise ExpressionError(f"longer than {_LONGEST} characters")
    try:
        with warnings.catch_warnings():
            # "1if" makes the parser warn on stderr; this module reports the fault itself.
            warnings.simplefilter("ignore")
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError("not an arithmetic expression") from error


def _names(node: ast.expr) -> set[str]:
    """Check the nodes that `_value` accepts, before any parameter has a value."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return set()
        case ast.Name(id=name):
            return {name}
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv(), right=right):
            return _names(left) | _names(right)
        case ast.BinOp():
            raise ExpressionError("only + - * // are allowed")
        case _:
            raise ExpressionError("only whole numbers, parameter names, + - * // and parentheses are allowed")


def _value(node: ast.expr, parameters: Mapping[str, Any]) -> int:
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return _bounded(value)
        case ast.Name(id=name):
            found = parameters.get(name)
            if not isinstance(found, int) or isinstance(found, bool):
                raise ExpressionError(f'"{name}" is not a whole-number parameter')
            return _bounded(found)
        case ast.BinOp(left=left, op=operator, right=right):
            return _bounded(_apply(operator, _value(left, parameters), _value(right, parameters)))
        case _:
            raise ExpressionError("only whole numbers, parameter names, + - * // and parentheses are allowed")


def _bounded(value: int) -> int:
    if abs(value) >= _LARGEST:
        raise ExpressionError("a value is not below 2**53")
    return value


def _apply(operator: ast.operator, left: int, right: int) -> int:
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv() if right != 0:
            return left // right
        case ast.FloorDiv():
            raise ExpressionError("division by zero")
        case _:
            raise ExpressionError("only + - * // are allowed")
