"""``torch.distributed.tensor``: tensors in parts on the processes of a mesh.

Note [Strategies] and Note [Changing placements] say how operators run on them.
"""

from ..._absent import names_of
from ..device_mesh import DeviceMesh as DeviceMesh
from ..device_mesh import init_device_mesh as init_device_mesh
from ._api import DTensor as DTensor
from ._api import distribute_module as distribute_module
from ._api import distribute_tensor as distribute_tensor
from ._api import empty as empty
from ._api import full as full
from ._api import ones as ones
from ._api import rand as rand
from ._api import randn as randn
from ._api import zeros as zeros
from .placement_types import DTensorSpec as DTensorSpec
from .placement_types import Partial as Partial
from .placement_types import Placement as Placement
from .placement_types import Replicate as Replicate
from .placement_types import Shard as Shard

__getattr__ = names_of(__name__)
