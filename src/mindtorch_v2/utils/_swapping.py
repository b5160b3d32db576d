"""Two tensors exchanged under whoever holds them."""

from __future__ import annotations

import copyreg
import weakref

from .. import _C
from .._C import Tensor


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchanges everything that two tensors are: values, class, attributes. Who holds one of them now has the other's.

    What refers to a tensor from elsewhere (weak references, graphs that saved it) would not notice, so that is refused;
    a graph that ends in one of them is told when gradients arrive there.
    """
    tensors = {"t1": t1, "t2": t2}
    for name, tensor in tensors.items():
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    if set(copyreg._slotnames(type(t1))) != set(copyreg._slotnames(type(t2))):  # type: ignore[attr-defined]
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    for name, tensor in tensors.items():
        if (count := tensor._use_count()) > 1:
            raise RuntimeError(
                f"Expected use_count of {name} to be 1 or 2 with an AccumulateGrad node but got {count} make sure you "
                "are not holding references to the tensor in other places."
            )
    _C._swap_tensors(t1, t2)
