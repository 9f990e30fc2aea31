"""Whether a launch's cap on instructions is in force, by what the libraries of this process say of themselves."""

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

# OpenBLAS's, under the names that Debian's build and NumPy's own wheels give it.
_CORE_NAMES = ("openblas_get_corename", "scipy_openblas_get_corename64_", "scipy_openblas_get_corename")
# The bit that all instruction sets of oneDNN have from AVX-512 on (dnnl_cpu_isa_t).
_ONEDNN_AVX512 = 0x20


def beyond_avx2() -> list[str]:
    """What computes with more than AVX2 here, or does not say so; empty where the cap is in force.

    MKL, which PyPI's PyTorch has built in, says nothing of itself; the image has none.
    """
    return [*_numpy(), *_pytorch(), *_libraries()]


def _numpy() -> Iterator[str]:
    umath = np._core._multiarray_umath  # type: ignore[attr-defined]  # private, and says it nowhere else
    wide = [
        name for name in umath.__cpu_dispatch__ if name.startswith("AVX512") and umath.__cpu_features__[name]
    ]
    if wide:
        yield f"NumPy dispatches to {', '.join(wide)}"


def _pytorch() -> Iterator[str]:
    # Only where an implementation imported it: half of them do without.
    torch = sys.modules.get("torch")
    if torch is not None and (found := torch.backends.cpu.get_cpu_capability()) != "AVX2":
        yield f"PyTorch computes with {found}"


def _libraries() -> Iterator[str]:
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    for path in sorted({line.split(maxsplit=5)[-1] for line in lines if "/" in line}):
        name = Path(path).name
        if "libopenblas" in name or "libscipy_openblas" in name:
            core = _openblas_core(ctypes.CDLL(path))
            if core != "Haswell":
                yield f"OpenBLAS computes for {core}"
        elif name.startswith("libdnnl"):
            isa = int(ctypes.CDLL(path).dnnl_get_effective_cpu_isa())
            if isa & _ONEDNN_AVX512:
                yield f"oneDNN computes with its instruction set {isa:#x}"


def _openblas_core(library: ctypes.CDLL) -> str:
    for name in _CORE_NAMES:
        function = getattr(library, name, None)
        if function is not None:
            function.restype = ctypes.c_char_p
            return str(function().decode("ascii"))
    return "a processor that it does not name"
