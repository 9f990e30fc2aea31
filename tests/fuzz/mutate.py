"""Seeded mutation: blind to the format at times, along its structure at others."""

import copy
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import yaml

# What parsers have stumbled over: limits of numbers, markup, paths, escapes, nesting, look-alikes, other encodings.
TOKENS = (
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"\n", b"\r", b"\t", b" ", b"\\", b"\"", b"'",
    b"[", b"]", b"{", b"}", b":", b",", b"- ", b"? ", b"&a ", b"*a", b"<<: ", b"!!binary ", b"!!int ", b"!!bool ",
    b"!!timestamp ", b"!!python/object/apply:os.system ", b"%YAML 9.9\n---\n", b"---\n", b"...\n", b"|\n", b">\n",
    b"NaN", b"-Infinity", b"1e400", b".inf", b".nan", b"-0", b"0x" + b"f" * 99, b"9" * 400, b"9" * 5000, b"1:2:3:4",
    b"2026-99-99", b"true", b"null", b"~", b"../", b"/etc/passwd", b"..", b"-x", b"--help", b"CON", b"a\n",
    b"\\u0000", b"\\ud800", b"\\u202e", b"\\U00110000", "\u0430\u0435".encode(), "\u202e".encode(), "\u2028".encode(),
    b"|", b"`", b"{{ 7*7 }}", b"{% include 'x' %}", b"<script>", b"__class__", b"9**9**9", b"1 << 99", b"(" * 300,
    b"[" * 3000, b"{\"a\":" * 3000, b"steps", b"// 0", b"# ", b"\x1b[31m",
)  # fmt: skip

JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, 2**64, -(2**63) - 1, 10**300, 10**400, 0.0, -0.0, 1.5, 1e-320,
    1e308, -1e308, 1e15, "", "x", "a\n", "../x", "/", "..", "-x", "--help", "CON", "nul.json", "a" * 300, "\x00",
    "\x1b[31m|`<b>", "\u202e", "é", "\u0430dmin", "{{ 7*7 }}", "__import__('os')", "9**9**9", "steps // 0", "0" * 64,
    "sha256:" + "0" * 64, "2026-01-01T00:00:00+00:00", "2026-99-99", [], {}, [[]], [None], {"": None}, {"x": {}},
    [1, "a", 1.5, None], {"a": 1, "b": "c"}, {"seconds": [1e-3]},
)  # fmt: skip


def mutate_bytes(data: bytes, others: Sequence[bytes], draw: random.Random) -> bytes:
    """``data`` with one to eight changes that know nothing of its format."""
    result = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 2, 4, 8))):
        at = draw.randrange(len(result) + 1)
        upto = min(len(result), at + draw.choice((1, 1, 2, 4, 16, 64, 256)))
        match draw.randrange(9):
            case 0 if result:
                result[min(at, len(result) - 1)] ^= 1 << draw.randrange(8)
            case 1:
                del result[at:upto]
            case 2:
                result[at:at] = result[at:upto]
            case 3:
                result[at:at] = draw.choice(TOKENS)
            case 4:
                result[at:upto] = draw.choice(TOKENS)
            case 5:
                del result[at:]
            case 6:
                other = draw.choice(others)
                start = draw.randrange(len(other) + 1)
                result[at:at] = other[start : start + draw.randrange(1, 400)]
            case 7:
                result[at:at] = draw.choice(TOKENS)[:20] * draw.choice((2, 16, 256, 2048))
            case _:
                result[at:upto] = draw.randbytes(upto - at)
    return bytes(result[: 2**20])


def mutate_value(value: Any, draw: random.Random) -> Any:
    """Plain data with one to three changes along its structure."""
    value = copy.deepcopy(value)
    # Half of the time only to neighbouring values: what is still valid gets further in.
    gently = draw.random() < 0.5
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        value = _change(value, draw, gently=gently)
    return value


def mutate_json(data: bytes, draw: random.Random) -> bytes:
    """A JSON text with its structure changed."""
    return json.dumps(mutate_value(json.loads(data), draw), ensure_ascii=draw.random() < 0.5).encode(
        "utf-8", "surrogatepass"
    )


def mutate_yaml(data: bytes, draw: random.Random) -> bytes:
    """A YAML text with its structure changed; what is the same object in it becomes an alias."""
    value = mutate_value(yaml.safe_load(data), draw)
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True).encode("utf-8", "surrogatepass")


def _change(value: Any, draw: random.Random, *, gently: bool) -> Any:
    places = list(_places(value))
    if not places:
        return draw.choice(JUNK)
    holder, key = draw.choice(places)
    match 8 if gently else draw.randrange(9):
        case 0 | 1 | 2:
            holder[key] = copy.deepcopy(draw.choice(JUNK))
        case 3:
            del holder[key]
        case 4:
            other, other_key = draw.choice(places)
            holder[key] = copy.deepcopy(other[other_key])
        case 5:
            for _ in range(draw.choice((1, 5, 30, 400))):
                holder[key] = [holder[key]] if draw.random() < 0.5 else {"x": holder[key]}
        case 6 if isinstance(holder, dict):
            # A name in the place of another.
            holder[str(draw.choice(JUNK))] = holder.pop(key)
        case 7 if isinstance(holder, list):
            holder.extend([copy.deepcopy(holder[key])] * draw.choice((1, 10, 1000)))
        case _:
            holder[key] = _near(holder[key], draw)
    return value


def _near(value: Any, draw: random.Random) -> Any:
    """A value of the same type that is a little, or a lot, off."""
    if isinstance(value, bool) or value is None:
        return draw.choice((True, False, None))
    if isinstance(value, int):
        return draw.choice((value + 1, value - 1, -value, value * 2**40, float(min(value, 2**60))))
    if isinstance(value, float):
        return draw.choice((-value, value * 1e300, value * 1e-300, 0.0, 1e15, 7))
    if isinstance(value, str):
        at = draw.randrange(len(value) + 1)
        inserted = draw.choice(TOKENS)[:200].decode("utf-8", "replace")
        return draw.choice((value[:at], value[:at] + inserted + value[at:], value.upper(), value + "\n"))
    return draw.choice(([value], {}, []))


def _places(value: Any) -> "list[tuple[Any, Any]]":
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting and len(found) < 3000:
        node = waiting.pop()
        items: Any = ()
        if isinstance(node, dict):
            items = list(node.items())
        elif isinstance(node, list):
            # Of long lists the beginning: otherwise a figure would nearly always be what is hit.
            items = list(enumerate(node[:20]))
        for key, each in items:
            found.append((node, key))
            waiting.append(each)
    return found


Mutation = Callable[[bytes, random.Random], bytes]
