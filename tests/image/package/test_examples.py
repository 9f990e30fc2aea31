"""The package's examples, with the PyTorch of the image: runs inside the image."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "rust" / "crates" / "torchforge-py"


def run(*words: str) -> str:
    """What a program says on stdout; its warnings are errors."""
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_examples_of_the_packages_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    environments, agent = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert re.fullmatch(
        r"\d+ episodes ended; the mean return of a step is \d+\.\d\n", run("-c", environments)
    )
    assert run("-c", agent) in {"0\n", "1\n"}
    assert (tmp_path / "cartpole.safetensors").exists()


def test_ppo_in_pytorch_learns_in_our_environments() -> None:
    said = run(str(PACKAGE / "examples" / "pytorch_ppo.py"), "30720")
    lengths = [float(each) for each in re.findall(r"mean length (.*)", said)]
    assert len(lengths) == 30
    assert lengths[-1] > 2 * lengths[0]


def test_a_script_like_cleanrls_learns_in_our_environment() -> None:
    said = run(str(PACKAGE / "examples" / "cleanrl_dqn.py"), "12000")
    returns = [float(each) for each in re.findall(r"step \d+: return (\d+)", said)]
    assert len(returns) > 5
    assert max(returns[-3:]) > 3 * returns[0]
