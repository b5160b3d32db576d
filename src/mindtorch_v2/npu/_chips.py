"""Chips by name: their numbers, as torch_npu counts them, and what some cannot do."""

from __future__ import annotations

# The first number of a family, and its members in order.
_FAMILIES = {
    100: ("Ascend910PremiumA", "Ascend910ProA", "Ascend910A", "Ascend910ProB", "Ascend910B"),
    200: ("Ascend310P1", "Ascend310P2", "Ascend310P3", "Ascend310P4", "Ascend310P5", "Ascend310P7"),
    220: ("Ascend910B1", "Ascend910B2", "Ascend910B2C", "Ascend910B3", "Ascend910B4", "Ascend910B4-1"),
    240: ("Ascend310B1", "Ascend310B2", "Ascend310B3", "Ascend310B4"),
    250: ("Ascend910_9391", "Ascend910_9392", "Ascend910_9381", "Ascend910_9382", "Ascend910_9372", "Ascend910_9362"),
}  # fmt: skip
_NUMBERS = {name: first + at for first, names in _FAMILIES.items() for at, name in enumerate(names)}
_ASCEND950 = 260
_UNKNOWN = -1

# Chips without bfloat16; all later ones have it.
_WITHOUT_BF16 = ("Ascend310", "Ascend910A", "Ascend910ProA", "Ascend910PremiumA")


def number(name: str) -> int:
    """The number of a chip; newer ones have larger ones, unknown ones -1."""
    if name.startswith("Ascend950"):
        return _ASCEND950
    return _NUMBERS.get(name, _UNKNOWN)


def has_bfloat16(name: str) -> bool:
    return not name.startswith(_WITHOUT_BF16)
