"""OpenBLAS without threads of its own: products are cut up for the pool of csrc/kernels/common/parallel.h."""

import contextlib
import os
from collections.abc import Iterator

_VARIABLE = "OPENBLAS_NUM_THREADS"


@contextlib.contextmanager
def none_of_its_own() -> Iterator[None]:
    """While an OpenBLAS is loaded: it would start a thread for each core, and each would spin for a while.

    The variable is read once, when the library is loaded, so other copies of it (NumPy's) see what the user set.
    """
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before
