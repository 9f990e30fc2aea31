"""The base of every part of a record: a frozen type without unnamed fields, and bounded scalars.

A number keeps its written form, 4 or 4.0, because the seal covers the written form.
"""

import sys
from typing import Annotated, Any

import msgspec
from msgspec import Meta

# The largest whole number that every JSON reader keeps.
_MOST = 2**53 - 1
_LARGEST_FIGURE = 10**15

Hash = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Digest = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}\Z")]
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9=._-]{0,63}\Z")]
FileName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")]
FigureName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*\Z", max_length=100)]
DateTime = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Command = Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(min_length=1)]
Amount = Annotated[int, Meta(ge=0, le=_MOST)]
Positive = Annotated[int, Meta(ge=1)]
Figure = Annotated[int, Meta(ge=0, le=_LARGEST_FIGURE)] | Annotated[float, Meta(ge=0, le=_LARGEST_FIGURE)]
PositiveFigure = (
    Annotated[int, Meta(gt=0, le=_LARGEST_FIGURE)] | Annotated[float, Meta(gt=0, le=_LARGEST_FIGURE)]
)
AnyFigure = (
    Annotated[int, Meta(ge=-_LARGEST_FIGURE, le=_LARGEST_FIGURE)]
    | Annotated[float, Meta(ge=-_LARGEST_FIGURE, le=_LARGEST_FIGURE)]
)
Bound = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0, le=sys.float_info.max)]
PositiveBound = Annotated[int, Meta(gt=0)] | Annotated[float, Meta(gt=0, le=sys.float_info.max)]
Parameters = Annotated[
    dict[str, bool | int | float | str],
    Meta(extra_json_schema={"properties": {"environments": {"type": "integer", "minimum": 1}}}),
]


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a record, or a record."""

    def plain(self) -> dict[str, Any]:
        """The part as JSON data, with lists as tuples. An absent field stays absent."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


def require_environments(parameters: Parameters) -> None:
    """See that ``environments`` is a count, because the gate counts steps by it.

    Raises:
        ValueError: it is not a whole number above zero.
    """
    count = parameters.get("environments", 1)
    if type(count) is not int or count < 1:
        raise ValueError("environments is no whole number above zero")
