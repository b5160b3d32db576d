"""``torch.backends``: which libraries compute, and their settings."""

from collections.abc import Iterator
from contextlib import contextmanager

from .._absent import names_of
from . import (
    cpu as cpu,
)
from . import (
    cuda as cuda,
)
from . import (
    cudnn as cudnn,
)
from . import (
    mha as mha,
)
from . import (
    mkl as mkl,
)
from . import (
    mkldnn as mkldnn,
)
from . import (
    mps as mps,
)
from . import (
    openmp as openmp,
)
from . import (
    opt_einsum as opt_einsum,
)
from . import (
    quantized as quantized,
)


def flags_frozen() -> bool:
    """Whether settings may be assigned only in a ``with`` block: no."""
    return False


@contextmanager
def __allow_nonbracketed_mutation() -> Iterator[None]:
    """A block in which settings may be assigned, as they always may."""
    yield


__getattr__ = names_of(__name__)
