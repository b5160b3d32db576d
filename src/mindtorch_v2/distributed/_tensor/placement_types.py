"""An older name."""

from ..tensor.placement_types import DTensorSpec as DTensorSpec
from ..tensor.placement_types import Partial as Partial
from ..tensor.placement_types import Placement as Placement
from ..tensor.placement_types import Replicate as Replicate
from ..tensor.placement_types import Shard as Shard
from ..tensor.placement_types import TensorMeta as TensorMeta
