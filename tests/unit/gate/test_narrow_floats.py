"""Floats that NumPy has no type for are read as the numbers that they are."""

import json
import math
import struct
from pathlib import Path

import numpy as np
import pytest

from runner.gate.arrays import read_arrays
from runner.gate.outputs import compare, read_output
from runner.matrix import OutputCheck


def write(path: Path, **tensors: tuple[str, bytes, int]) -> Path:
    """A .safetensors file of one-dimensional tensors: type, bytes and number of elements of each."""
    header, content = {}, b""
    for name, (kind, data, length) in tensors.items():
        header[name] = {
            "dtype": kind,
            "shape": [length],
            "data_offsets": [len(content), len(content) + len(data)],
        }
        content += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)
    return path


def test_each_bfloat16_is_the_float_whose_upper_half_it_is(tmp_path: Path) -> None:
    path = write(tmp_path / "y.safetensors", y=("BF16", bytes.fromhex("803f 00c0 0100 7f7f"), 4))
    found = read_arrays(path)["y"]
    assert found.dtype == np.float32
    assert found.tolist() == [1.0, -2.0, 2.0**-133, (2 - 2.0**-7) * 2.0**127]


def test_each_float_of_eight_bits_has_its_value(tmp_path: Path) -> None:
    path = write(
        tmp_path / "y.safetensors",
        e4m3=("F8_E4M3", bytes.fromhex("38 c0 01 7e 08"), 5),
        e5m2=("F8_E5M2", bytes.fromhex("3c c0 01 7b 04"), 5),
        plain=("F16", np.array([0.5], "<f2").tobytes(), 1),
    )
    found = read_arrays(path)
    assert found["e4m3"].tolist() == [1.0, -2.0, 2.0**-9, 448.0, 2.0**-6]
    assert found["e5m2"].tolist() == [1.0, -2.0, 2.0**-16, 57344.0, 2.0**-14]
    assert found["plain"].tolist() == [0.5]


@pytest.mark.parametrize(
    ("kind", "data"), [("F8_E4M3", "7f"), ("F8_E5M2", "7d"), ("BF16", "c07f"), ("BF16", "80ff")]
)
def test_what_is_no_finite_number_is_none_in_few_bits_either(tmp_path: Path, kind: str, data: str) -> None:
    path = write(tmp_path / "y.safetensors", y=(kind, bytes.fromhex(data), 1))
    assert not math.isfinite(read_arrays(path)["y"][0])


def test_a_bfloat16_output_passes_a_gate_that_its_rounding_passes(tmp_path: Path) -> None:
    exact = np.linspace(1, 2, 50, dtype=np.float32)
    rounded = ((exact.view("<u4") + 0x8000) >> 16).astype("<u2")
    mine = read_output(write(tmp_path / "mine.safetensors", y=("BF16", rounded.tobytes(), 50)))
    theirs = read_output(write(tmp_path / "theirs.safetensors", y=("F32", exact.tobytes(), 50)))
    for bound, passes in ((2.0**-8, True), (2.0**-12, False)):
        output = OutputCheck(file="y.safetensors", rtol=bound, atol=0.0, scaled=None, tensors={})
        assert compare(output, mine, theirs)[0].passed is passes
