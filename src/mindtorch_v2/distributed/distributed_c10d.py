"""``torch.distributed.distributed_c10d``: where PyTorch defines what ``torch.distributed`` shows."""

from .._absent import names_of
from . import (
    Backend as Backend,
)
from . import (
    GroupMember as GroupMember,
)
from . import (
    ReduceOp as ReduceOp,
)
from . import (
    get_backend as get_backend,
)
from . import (
    get_rank as get_rank,
)
from . import (
    get_world_size as get_world_size,
)
from . import (
    group as group,
)
from . import (
    init_process_group as init_process_group,
)
from . import (
    is_available as is_available,
)
from . import (
    is_gloo_available as is_gloo_available,
)
from . import (
    is_initialized as is_initialized,
)
from . import (
    is_mpi_available as is_mpi_available,
)
from . import (
    is_nccl_available as is_nccl_available,
)
from . import (
    is_xccl_available as is_xccl_available,
)
from .constants import default_pg_timeout as default_pg_timeout
from .errors import DistNetworkError as DistNetworkError
from .errors import DistStoreError as DistStoreError
from .stores import FileStore as FileStore
from .stores import HashStore as HashStore
from .stores import PrefixStore as PrefixStore
from .stores import Store as Store
from .tcp_store import TCPStore as TCPStore

_get_default_group = get_rank

__getattr__ = names_of(__name__)
