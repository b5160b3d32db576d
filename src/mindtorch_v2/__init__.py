"""MindTorch v2: PyTorch's API with a core of its own, whose first accelerator is the Ascend NPU.

    import mindtorch_v2 as torch
"""

# ruff: noqa: A001, A004, E402, F401 - this module is a namespace: PyTorch's names, some of them Python's own
from math import e, inf, nan, pi

from ._version import __version__
from . import _C
from ._C import (
    Generator,
    OutOfMemoryError,
    Tensor,
    bfloat16,
    bool,
    can_cast,
    complex64,
    complex128,
    device,
    dtype,
    float16,
    float32,
    float64,
    from_numpy,
    get_default_dtype,
    get_num_threads,
    int8,
    int16,
    int32,
    int64,
    is_grad_enabled,
    promote_types,
    set_num_threads,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._size import Size
from ._functions import *  # noqa: F403 - the operators of the table
from ._types import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    finfo,
    iinfo,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from ._creation import as_tensor, scalar_tensor, tensor
from ._defaults import get_default_device, set_default_device, set_default_dtype
from ._random import default_generator, fork_rng, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from ._storage import UntypedStorage
from ._storage_typed import (
    BFloat16Storage,
    BoolStorage,
    ByteStorage,
    CharStorage,
    DoubleStorage,
    FloatStorage,
    HalfStorage,
    IntStorage,
    LongStorage,
    ShortStorage,
    TypedStorage,
)
from ._tensor_str import get_printoptions, printoptions, set_printoptions
from . import _tensor
from ._tensor import allclose, equal, is_floating_point, is_tensor, numel, result_type
from . import autograd
from .autograd.grad_mode import enable_grad, no_grad, set_grad_enabled
from . import nn, npu, optim, profiler

half, float, double = float16, float32, float64
cfloat, cdouble = complex64, complex128
short, int, long = int16, int32, int64
