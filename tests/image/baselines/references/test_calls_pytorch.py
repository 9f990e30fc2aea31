"""PyTorch's call against the reference's. Needs torch: runs inside the image."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from baselines.benchmarks import calls
from baselines.contract import protocol
from baselines.inputs.calls import write
from baselines.references import calls as reference
from baselines.references import calls_pytorch


def test_its_new_tensors_have_the_bits_of_the_reference_s_arrays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parameters = {"does": "copy", "size": 64, "calls": 50, "warmup": 0, "repetitions": 1}
    (tmp_path / "in" / "case").mkdir(parents=True)
    write(parameters, 42, tmp_path / "in" / "case")
    words = ["--case", "case", "--parameters", json.dumps(parameters), "--input", str(tmp_path / "in")]
    for name, course in (("torch", calls_pytorch.COURSE), ("python", reference.COURSE)):
        with torch.inference_mode():
            calls.run(protocol.parser(None).parse_args([*words, "--output", str(tmp_path / name)]), course)
    assert len(capsys.readouterr().out.splitlines()) == 2
    for file in ("answers.npy", "last.npy"):
        ours, theirs = (np.load(tmp_path / name / "case" / file) for name in ("torch", "python"))
        assert ours.tobytes() == theirs.tobytes(), file
