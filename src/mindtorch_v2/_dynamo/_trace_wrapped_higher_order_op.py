"""How indexing is traced inside vmap. Our vmap needs no such help."""

from contextlib import nullcontext


class TransformGetItemToIndex(nullcontext[None]):
    """Makes ``x[i]`` with a tensor ``i`` work inside :func:`torch.vmap`, where here it always does."""
