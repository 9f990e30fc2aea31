"""A complete competitor in Python and NumPy, without the helper (docs/protocol.md)."""

import json
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np


def number(nonce, index):
    x = (nonce + (index + 1) * 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def repeat(x, calls, steps, nonce, repetition):
    y = np.tile(x, (calls, 1))
    numbers = [number(nonce, repetition * calls + call) | 1 for call in range(calls)]
    start = time.perf_counter()
    for row, n in zip(y, numbers, strict=True):
        for _ in range(steps):
            row[:] = row * (2 * row + n)
    return time.perf_counter() - start, y


def given(option):
    return [value for word, value in pairwise(sys.argv) if word == option]


[inputs], [outputs] = given("--input"), given("--output")
cases = dict(zip(given("--case"), map(json.loads, given("--parameters")), strict=True))
xs = {case: np.load(f"{inputs}/{case}/x.npy") for case in cases}
print('{"event": "ready"}', flush=True)
for line in sys.stdin:
    heard, order = time.perf_counter(), json.loads(line)
    case, nonce, repetitions = order["case"], int(order["nonce"], 16), order["repetitions"]
    work = xs[case], cases[case]["calls"], cases[case]["steps"]
    if order["event"] == "go":
        seconds, digests = [], []
        for repetition in range(order["first"], order["first"] + repetitions):
            elapsed, y = repeat(*work, nonce, repetition)
            seconds.append(elapsed / len(y))
            digests.append(f"{y.sum():016x}")
        answer = {"event": "done", "case": case, "metrics": {"seconds": seconds}, "digests": digests}
        between = time.perf_counter() - heard - sum(seconds) * cases[case]["calls"]
        answer |= {"counts": {"elements": len(xs[case])}, "between_seconds": between}
    else:
        for repetition in repetitions:
            folder = Path(outputs, case, str(repetition))
            folder.mkdir(parents=True)
            np.save(folder / "y.npy", repeat(*work, nonce, repetition)[1])
        answer = {"event": "written", "case": case}
    print(json.dumps(answer), flush=True)
