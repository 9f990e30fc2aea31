"""A launch's cap on instructions: the variable for every library, and the machines that cannot run such a launch.

Each library chooses its instructions by the processor, and obeys a variable of its own. A library may ignore its
variable. So an implementation checks the cap in the libraries that it has loaded
(`baselines/contract/instructions.py`), and fails where the cap is not in force.
"""

from collections.abc import Collection, Mapping

from runner.matrix import Instructions, Limits, Platform

_AVX512 = ("F", "CD", "_KNL", "_KNM", "_SKX", "_CLX", "_CNL", "_ICL", "_SPR")
_VARIABLES: Mapping[Instructions, Mapping[str, str]] = {
    Instructions.AVX2: {
        # torchforge reads this variable, and so does the baselines' check.
        "FORGE_BENCH_SIMD": "avx2",
        # PyTorch's own kernels. (Code that g++ makes for torch.compile obeys no variable: the matrix excludes it
        # under a cap.)
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "DNNL_MAX_CPU_ISA": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        # NumPy only warns, invisibly, about a name that it or the processor lacks.
        "NPY_DISABLE_CPU_FEATURES": " ".join(f"AVX512{name}" for name in _AVX512),
        # The C library's copies and searches.
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD",
    }
}
_ARCHITECTURE = {Instructions.AVX2: "amd64"}


def environment(limits: Limits) -> Mapping[str, str]:
    """The environment variables of a launch under these limits."""
    return {} if limits.instructions is None else _VARIABLES[limits.instructions]


def left_out(limits: Limits, platform: Platform) -> str | None:
    """Why no machine can run this platform's code under such limits, or None."""
    wanted = limits.instructions
    if wanted is None or platform.architecture == _ARCHITECTURE[wanted]:
        return None
    return f"{wanted.value} is no instruction set of {platform.architecture}"


def left_out_here(limits: Limits, platform: Platform, simd: Collection[str] | None) -> str | None:
    """Why this machine cannot, or None.

    ``simd`` are its processor's instruction sets, as `machine.describe` names them.
    """
    wanted = limits.instructions
    # An unknown processor is assumed to have every instruction set; the launch finds out.
    if wanted is None or simd is None or wanted.value in simd:
        return left_out(limits, platform)
    return left_out(limits, platform) or f"this machine has no {wanted.value}"
