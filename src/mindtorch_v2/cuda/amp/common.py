"""``torch.cuda.amp.common``: whether there is CUDA."""


def amp_definitely_not_available() -> bool:
    """True: there is no CUDA."""
    return True
