"""What the CPU can do."""

from ._cpu_capabilities import get_capabilities


def get_cpu_capability() -> str:
    """The widest instruction set that kernels use here: AVX512, AVX2, or DEFAULT for the architecture's baseline."""
    here = get_capabilities()
    if not (here.get("avx2") and here.get("fma3")):
        return "DEFAULT"
    return "AVX512" if all(here.get(f"avx512_{part}") for part in ("f", "bw", "dq", "vl")) else "AVX2"
