"""A launch's cap on instructions: what every library is told, and where there can be no such launch.

A library chooses by itself what it computes with, by what the processor has, and each is told by a variable of its
own. What is told is not what is done: an implementation looks whether the cap is in force in what it has loaded
(`baselines/contract/instructions.py`), and fails where it is not.
"""

from collections.abc import Collection, Mapping

from runner.matrix import Instructions, Limits, Platform

_AVX512 = ("F", "CD", "_KNL", "_KNM", "_SKX", "_CLX", "_CNL", "_ICL", "_SPR")
_VARIABLES: Mapping[Instructions, Mapping[str, str]] = {
    Instructions.AVX2: {
        # torchforge; and what the baselines' check goes by.
        "FORGE_BENCH_SIMD": "avx2",
        # PyTorch's own kernels. (What g++ makes for torch.compile listens to none: the matrix keeps it from this cap.)
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "DNNL_MAX_CPU_ISA": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        # A name that this NumPy or processor lacks is nothing but a warning, which nobody is shown.
        "NPY_DISABLE_CPU_FEATURES": " ".join(f"AVX512{name}" for name in _AVX512),
        # The C library's copies and searches.
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD",
    }
}
_ARCHITECTURE = {Instructions.AVX2: "amd64"}


def environment(limits: Limits) -> Mapping[str, str]:
    """The variables of a launch under these limits."""
    return {} if limits.instructions is None else _VARIABLES[limits.instructions]


def left_out(limits: Limits, platform: Platform) -> str | None:
    """Why no machine can run this platform's code under such limits, or None."""
    wanted = limits.instructions
    if wanted is None or platform.architecture == _ARCHITECTURE[wanted]:
        return None
    return f"{wanted.value} is no instruction set of {platform.architecture}"


def left_out_here(limits: Limits, platform: Platform, simd: Collection[str] | None) -> str | None:
    """Why this machine cannot, or None. ``simd`` is what its processor has, as `machine.describe` names it."""
    wanted = limits.instructions
    # Of a processor that is not known nothing is held to be lacking: the launch finds out.
    if wanted is None or simd is None or wanted.value in simd:
        return left_out(limits, platform)
    return left_out(limits, platform) or f"this machine has no {wanted.value}"
