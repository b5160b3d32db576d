"""Operators that programs register themselves; the public names are in ``torch.library``."""
