"""A checkout holds the same bytes whatever git was told about line ends."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
# What runs inside an image, and what is hashed.
KEPT = ("docker/tools.sh", "docker/Dockerfile", "baselines/inputs.py", "matrix.yaml", "uv.lock", ".ci/run")


def git(*words: str, at: Path) -> str:
    return subprocess.run(["git", *words], cwd=at, capture_output=True, text=True, check=True).stdout


def test_a_checkout_with_converted_line_ends_holds_the_same_bytes(tmp_path):
    one = tmp_path / "one"
    git("init", "--quiet", str(one), at=tmp_path)
    present = [name for name in KEPT if (ROOT / name).is_file()]
    assert len(present) > 3
    for name in (".gitattributes", *present):
        (one / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, one / name)
    git("add", "--all", at=one)
    git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "--quiet", "--message", "x", at=one)
    git("clone", "--quiet", "--config", "core.autocrlf=true", str(one), "two", at=tmp_path)
    for name in present:
        assert (tmp_path / "two" / name).read_bytes() == (ROOT / name).read_bytes(), name
