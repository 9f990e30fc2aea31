"""The small arithmetic in which a matrix states expected counts: integers, names, ``+ - * //``, parentheses.

It is parsed by Python's own parser and evaluated over a closed list of node types, so that nothing else can run.
"""

import ast
from collections.abc import Mapping
from typing import Any

_LONGEST = 200


class ExpressionError(ValueError):
    """The text is not such an expression, or names something that is not there."""


def names_in(text: str) -> frozenset[str]:
    """The parameter names that ``text`` uses.

    Raises:
        ExpressionError: ``text`` is not an expression of this kind.
    """
    tree = _parse(text)
    evaluate(text, {node.id: 1 for node in ast.walk(tree) if isinstance(node, ast.Name)})
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def evaluate(text: str, parameters: Mapping[str, Any]) -> int:
    """The value of ``text`` with ``parameters`` for its names.

    Raises:
        ExpressionError: ``text`` is not an expression of this kind, a name is missing or is no integer.
    """
    return _value(_parse(text), parameters)


def _parse(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise ExpressionError(f"longer than {_LONGEST} characters")
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError("not an arithmetic expression") from error


def _value(node: ast.expr, parameters: Mapping[str, Any]) -> int:
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.Name(id=name):
            found = parameters.get(name)
            if not isinstance(found, int) or isinstance(found, bool):
                raise ExpressionError(f'"{name}" is not a whole-number parameter')
            return found
        case ast.BinOp(left=left, op=operator, right=right):
            return _apply(operator, _value(left, parameters), _value(right, parameters))
        case _:
            raise ExpressionError("only whole numbers, parameter names, + - * // and parentheses are allowed")


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
