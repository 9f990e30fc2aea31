"""The package's examples, with the PyTorch of the image: runs inside the image."""

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[3] / "rust" / "crates" / "torchforge-py"


def run(*words: str) -> str:
    """What a program says on stdout; its warnings are errors."""
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_example_of_the_packages_readme_runs() -> None:
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert found is not None
    assert re.fullmatch(r"\d+ episodes ended; the mean return of a step is \d+\.\d\n", run("-c", found[1]))


def test_ppo_in_pytorch_learns_in_our_environments() -> None:
    said = run(str(PACKAGE / "examples" / "pytorch_ppo.py"), "30720")
    lengths = [float(each) for each in re.findall(r"mean length (.*)", said)]
    assert len(lengths) == 30
    assert lengths[-1] > 2 * lengths[0]
