"""The package's example with Stable-Baselines3: runs inside the image of the peers."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[4] / "rust" / "crates" / "torchforge-py" / "examples" / "sb3_ppo.py"


def test_stable_baselines3_learns_in_our_environment() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), "10240"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = re.search(r"mean return (\S+) ±", done.stdout)
    assert found is not None
    assert float(found[1]) > 50.0
