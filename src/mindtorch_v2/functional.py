"""``torch.functional``: the functions of torch that PyTorch writes in Python, under their second name."""

from ._functions import istft, split, stft, unique_consecutive, unravel_index
from ._functions import unique as unique
from ._functions.contractions import chain_matmul as chain_matmul
from ._functions.contractions import einsum as einsum
from ._functions.contractions import tensordot as tensordot
from ._functions.factors import lu as lu
from ._functions.norms import norm as norm
from ._functions.shapes import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    block_diag,
    broadcast_shapes,
    broadcast_tensors,
    cartesian_prod,
    cdist,
    meshgrid,
)
from ._lowrank import pca_lowrank as pca_lowrank
from ._lowrank import svd_lowrank as svd_lowrank
from .nn import functional as F  # noqa: F401 # packages import it from here

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors",
    "cartesian_prod", "cdist", "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "pca_lowrank",
    "split", "stft", "svd_lowrank", "tensordot", "unique", "unique_consecutive", "unravel_index",
]  # fmt: skip
