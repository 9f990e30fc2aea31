"""The generator of the inputs: x.npy of each case, whole numbers below 2**64."""

import argparse
import json
from pathlib import Path

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--case", action="append")
parser.add_argument("--parameters", action="append", type=json.loads)
parser.add_argument("--seed", type=int)
parser.add_argument("--output", type=Path)
options = parser.parse_args()
for case, parameters in zip(options.case, options.parameters, strict=True):
    (options.output / case).mkdir()
    random = np.random.default_rng(options.seed)
    x = random.integers(2**64, size=parameters["length"], dtype=np.uint64)
    np.save(options.output / case / "x.npy", x)
