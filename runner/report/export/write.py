"""A table as CSV or Parquet. Both hold the same values."""

import csv
import io
from collections.abc import Iterable, Sequence

from runner.report.export.table import Column, Value, rows
from runner.system.caller_limits import require_addresses
from runner.system.errors import PythonNotReady

# A spreadsheet executes a cell that begins so. Our own texts never do.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(table: Sequence[Column]) -> bytes:
    """RFC 4180 in UTF-8, with a header, and with the line ends of Unix.

    None is an empty field, and a flag is ``true`` or ``false``. A float is the shortest text that gives the same
    float again. A text that a spreadsheet would execute gets an apostrophe in front.
    """
    lines = [_line(_field(column.name) for column in table)]
    lines += [_line(map(_field, row)) for row in rows(table)]
    return "".join(lines).encode()


def as_parquet(table: Sequence[Column]) -> bytes:
    """A Parquet file: strings, 64-bit integers, doubles and booleans, each with nulls.

    Raises:
        PythonNotReady: there is no pyarrow here.
    """
    require_addresses()
    try:
        # Imported here: an image has no pyarrow, and nothing else needs it.
        import pyarrow as pa  # noqa: PLC0415
        from pyarrow import parquet  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise PythonNotReady(
            what="Parquet cannot be written here",
            why=f"{error}: it is one of the extra packages that a host needs and an image does not",
            fix="take --format csv, or on a host: make setup (or in the checkout: pip install -e '.[host]')",
        ) from error
    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    arrays = [pa.array(column.values, types[column.type]) for column in table]
    file = io.BytesIO()
    parquet.write_table(pa.table(arrays, names=[column.name for column in table]), file)
    return file.getvalue()


def _line(fields: Iterable[str]) -> str:
    text = io.StringIO(newline="")
    # Before Python 3.13 the module quotes a line end only if the terminator holds it too.
    csv.writer(text, lineterminator="\r\n").writerow(fields)
    return text.getvalue().removesuffix("\r\n") + "\n"


def _field(value: Value) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float():
            return repr(value)
        case str():
            return f"'{value}" if value.lstrip("'").startswith(_FORMULA) else value
        case _:
            return str(value)
