"""What the CPU can do."""


def get_cpu_capability() -> str:
    """The instruction set kernels are compiled for: the baseline, chosen again at run time where it matters."""
    return "DEFAULT"
