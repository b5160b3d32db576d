"""An older name."""

from ..tensor._utils import compute_local_shape_and_global_offset as compute_local_shape_and_global_offset
