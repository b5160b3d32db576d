"""Operators that programs register themselves; the public names are in ``library`` of ``torch``."""
