"""What mutation starts from: the shipped matrix, published records, the lines and files that implementations write."""

import gzip
import hashlib
import io
import json
import struct
import tarfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from runner.matrix import Matrix, load_matrix
from runner.records.ledger.chain import hash_of, text_of
from runner.records.ledger.lines import (
    FIRST,
    EndLine,
    ImagesLine,
    LaunchLine,
    Line,
    PlanLine,
    PlannedLaunch,
    RemovedLine,
)
from runner.records.publication import RECORDS, stream_of
from runner.records.record import record_of, seal

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "results" / "published"
# Of the first schema, and of the second.
QUICK, LATER = "2026-11-21-quick", "2026-11-22-quick"


@cache
def matrices() -> tuple[bytes, ...]:
    """The shipped matrix, the same with somebody else's image, and texts that unfold, nest or repeat."""
    shipped = (ROOT / "matrix.yaml").read_bytes()
    digest = "sha256:" + "0" * 64
    theirs = f"\nimages:\n  theirs: {{reference: registry.example/theirs@{digest}, versions: [/theirs]}}\n"
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    return (
        shipped,
        shipped.replace(b"image: peers", b"image: theirs", 1) + theirs.encode(),
        "\n".join(lines).encode(),
        b"a: &a [*a]",
        b"",
        b"\xef\xbb\xbfversion: 1\n",
    )


@cache
def shipped() -> Matrix:
    """The shipped matrix, read once: reading it takes longer than most tests."""
    return load_matrix(ROOT / "matrix.yaml")


@cache
def records() -> tuple[bytes, ...]:
    """A published record of every implementation and platform: a training's, and an operation's at T=2048."""
    return (*_one_of_each(QUICK), *map(_of_today, _one_of_each(LATER)))


def _one_of_each(name: str) -> list[bytes]:
    chosen: dict[tuple[str, ...], bytes] = {}
    for text in _published(name, "T=2048", "CartPole-v1"):
        cell = json.loads(text)["cell"]
        # Of what both publications hold: other benchmarks add nothing but time.
        if cell["benchmark"] in ("gae", "dqn"):
            chosen.setdefault((cell["benchmark"], cell["implementation"], cell["platform"]), text)
    return list(chosen.values())


@cache
def company() -> tuple[bytes, ...]:
    """All seeds of the operation at T=2048 on the native platform: enough for figures, ratios and verdicts."""
    native = (
        text for text in _published(LATER, "T=2048") if json.loads(text)["execution"]["kind"] == "native"
    )
    return tuple(map(_of_today, native))


def _of_today(text: bytes) -> bytes:
    """A record of the second schema as one of today: it says which rules made its key."""
    value = json.loads(text)
    del value["content_sha256"]
    value["schema"] = 3
    value["key_version"] = 1
    return json.dumps(seal(value)).encode()


def published_texts(name: str) -> Iterator[bytes]:
    """The text of every record of a publication, not checked by any reader of ours."""
    with gzip.open(PUBLISHED / name / RECORDS) as stream:
        yield from stream


@cache
def streams() -> tuple[bytes, ...]:
    """The stream of a publication of three records, and the same compressed."""
    stream = stream_of([record_of(json.loads(text)) for text in records()[:3]])
    return stream, gzip.compress(stream, mtime=0)


@cache
def ledgers() -> tuple[bytes, ...]:
    """A whole ledger, and one whose last line is cut off."""
    lines: list[bytes] = []

    def add(make: Callable[[str], Line]) -> None:
        lines.append(text_of(make(hash_of(lines[-1]) if lines else FIRST)))

    time, plan = "2026-01-01T00:00:00+00:00", "20260101T000000Z-00000000"
    image = record_of(json.loads(records()[0])).image
    add(
        lambda previous: PlanLine(
            previous=previous, time=time, plan=plan, version="0.1.0", commit="0" * 40, dirty=False,
            matrix_sha256="0" * 64, secret_sha256="0" * 64, profile="quick", executor="docker",
            options={"only": ("gae",), "fresh": False}, images=(image,),
            launches=(PlannedLaunch(name="gae rust amd64 seed 1", keys=("0" * 64,)),), reused=0,
        )
    )  # fmt: skip
    add(lambda previous: ImagesLine(previous=previous, time=time, plan=plan, images=(image,)))
    add(
        lambda previous: LaunchLine(
            previous=previous, time=time, plan=plan, launch="gae-rust", keys=("0" * 64,), records=("1" * 64,),
            failures={"0" * 64: "deadline"}, void=None,
        )
    )  # fmt: skip
    add(
        lambda previous: EndLine(
            previous=previous, time=time, plan=plan, outcome="done", why=None, opening="0" * 64
        )
    )
    add(lambda previous: RemovedLine(previous=previous, time=time, records=1))
    whole = b"".join(line + b"\n" for line in lines)
    return whole, whole[:-20]


@cache
def publication_facts() -> tuple[bytes, ...]:
    """The publication.json of that publication."""
    stream = streams()[0]
    found = [json.loads(line) for line in stream.splitlines()]
    facts = {
        "format": 1,
        "name": QUICK,
        "commit": None,
        "matrix_sha256": "0" * 64,
        "machines": [{"records": len(found), "facts": found[0]["machine"]}],
        "images": [{"records": len(found), "facts": found[0]["image"]}],
        "warnings": ["amd64: Turbo: unknown."],
        "known_faults": ["A launch was left out."],
        "counts": {"records": len(found), "cells": len({each["key"] for each in found}), "failed": 0},
        "stream": {"bytes": len(stream), "sha256": hashlib.sha256(stream).hexdigest()},
    }
    return (json.dumps(facts).encode(),)


def publications() -> list[str]:
    """The name of each publication."""
    return sorted(path.name for path in PUBLISHED.iterdir() if path.is_dir())


def _published(name: str, *cases: str) -> list[bytes]:
    found = [text for text in published_texts(name) if json.loads(text)["cell"]["case"] in cases]
    if not found:
        raise FileNotFoundError(f"no records under {PUBLISHED / name}")
    return sorted(found, key=_place)


def _place(text: bytes) -> tuple[str, str]:
    value = json.loads(text)
    return value["cell"]["benchmark"], value["id"]


@cache
def lines() -> tuple[bytes, ...]:
    """The measurements in the records as the lines that they came from, and progress."""
    measured = [json.loads(text)["measurement"] for text in records()]
    progress = {"event": "progress", "done": 3, "total": 10, "unit": "repetition"}
    return tuple(json.dumps(each).encode() + b"\n" for each in [progress, *filter(None, measured)])


@cache
def expressions() -> tuple[bytes, ...]:
    """Expected counts, and what must never be evaluated."""
    return (
        b"(steps - 1) // train_frequency - learning_starts // train_frequency",
        b"batch * length",
        b"9**9**9",
        b"steps.real",
        b"1 << 9999999999",
        b"((((((((1))))))))",
        b"lambda: 0",
        b"[x for x in ()]",
    )


@cache
def arrays() -> tuple[bytes, ...]:
    """.npy files."""
    found = []
    for array in (np.arange(8.0), np.zeros((2, 3), np.float32), np.array([True]), np.zeros(0), np.float64(3)):
        buffer = io.BytesIO()
        np.save(buffer, array)
        found.append(buffer.getvalue())
    huge = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }\n"
    return (*found, b"\x93NUMPY\x01\x00" + struct.pack("<H", len(huge)) + huge)


@cache
def tensors() -> tuple[bytes, ...]:
    """.safetensors files."""
    weights = {"0.weight": np.ones((2, 2), np.float32), "loss": np.zeros(1, np.float64)}
    header = b'{"a":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}'
    return (save(weights), struct.pack("<Q", len(header)) + header + b"\0\0")


@cache
def episodes() -> tuple[bytes, ...]:
    """episodes.json files."""
    some: list[dict[str, Any]] = [
        {"step": 19, "length": 20, "return": 20.0},
        {"step": 49, "length": 30, "return": 30.0},
    ]
    return (json.dumps(some).encode(), b"[]")


@cache
def archives() -> tuple[bytes, ...]:
    """What a daemon's archive call gives for /outputs: ordinary ones, and one with every forbidden kind of entry."""
    return (_tar(("outputs/n=4/y.npy", b"0")), _tar(*((name, b"1") for name in EVIL_NAMES), evil=True))


EVIL_NAMES = (
    "outputs/../../escaped", "/absolute", "outputs/./../escaped", "outputs//etc/x", "outputs/a\x00b", "outputs/-rf",
    "outputs/CON", "outputs/a/" * 60 + "x", "outputs/" + "n" * 300, "outputs/\u0430", "../escaped", "outputs/..\\escaped",
    "outputs/a:b", "outputs/trailing.", "outputs/Y", "outputs/y", "outputs/a\nb",
)  # fmt: skip


def _tar(*files: tuple[str, bytes], evil: bool = False) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        folder = tarfile.TarInfo("outputs")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        if evil:
            for kind in (
                tarfile.SYMTYPE,
                tarfile.LNKTYPE,
                tarfile.FIFOTYPE,
                tarfile.CHRTYPE,
                tarfile.BLKTYPE,
            ):
                entry = tarfile.TarInfo(f"outputs/{kind.decode()}")
                entry.type, entry.linkname = kind, "../../../../etc/passwd"
                archive.addfile(entry)
    return buffer.getvalue()
