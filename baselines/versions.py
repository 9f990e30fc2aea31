"""Prints what this image or host really executes with, as one JSON object.

python3 -m baselines.versions
"""

import importlib.metadata
import json
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np


def pytorch() -> str | None:
    """PyTorch's version as the module says it, its build's suffix included; None where not installed."""
    try:
        import torch  # noqa: PLC0415 - the one module here that a host may lack
    except ModuleNotFoundError:
        return None
    return str(torch.__version__)


def blas() -> str | None:
    """The BLAS behind PyTorch and NumPy; None where none is recognised.

    Debian's are linked to libblas.so.3, behind which several libraries can be: the files that are mapped into
    this process count. PyPI's PyTorch on amd64 has MKL built in, which no mapping shows: it says so itself.
    """
    np.ones((2, 2)) @ np.ones((2, 2))
    torch = sys.modules.get("torch")
    if torch is not None and torch.backends.mkl.is_available():
        return "MKL"
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return blas_of(sorted({line.split(maxsplit=5)[-1] for line in lines if "/" in line}))


def blas_of(paths: Sequence[str]) -> str | None:
    """Name the BLAS among the paths of mapped libraries: `OpenBLAS 0.3.29 pthread` or `reference`."""
    libraries = [path for path in paths if "openblas" in Path(path).name]
    if libraries:
        version = re.search(r"-r(\d+(?:\.\d+)+)", libraries[0])
        flavour = re.search(r"openblas-(pthread|openmp|serial)/", libraries[0])
        return " ".join(["OpenBLAS", *(part[1] for part in (version, flavour) if part)])
    return "reference" if any("/libblas.so" in path for path in paths) else None


def glibc() -> str | None:
    """The C library's version; None where it is another library than glibc."""
    name, version = platform.libc_ver()
    return version if name == "glibc" else None


def torchforge() -> tuple[str | None, str | None]:
    """The versions of the `torchforge` binary and of the rustc that compiled it; None where there is none."""
    binary = shutil.which("torchforge")
    if binary is None:
        return None, None
    printed = subprocess.run([binary, "version"], check=True, capture_output=True, text=True).stdout
    found = json.loads(printed)
    return found["torchforge"], found["rustc"]


def main() -> None:
    """Print them all."""
    binary, rust = torchforge()
    versions = {
        "python": platform.python_version(),
        "pytorch": pytorch(),  # first, so that its libraries are mapped when the BLAS is asked for
        "numpy": np.__version__,
        "gymnasium": importlib.metadata.version("gymnasium"),
        "blas": blas(),
        "glibc": glibc(),
        "rust": rust,
        "torchforge": binary,
    }
    print(json.dumps(versions))


if __name__ == "__main__":
    main()
