"""``torch.distributed.tensor`` under its older name."""

from ..device_mesh import DeviceMesh as DeviceMesh
from ..device_mesh import init_device_mesh as init_device_mesh
from ..tensor import DTensor as DTensor
from ..tensor import Partial as Partial
from ..tensor import Placement as Placement
from ..tensor import Replicate as Replicate
from ..tensor import Shard as Shard
from ..tensor import distribute_module as distribute_module
from ..tensor import distribute_tensor as distribute_tensor
