"""MindTorch v2: PyTorch's API with a core of its own, whose first accelerator is the Ascend NPU.

import mindtorch_v2 as torch
"""

# ruff: noqa: I001 - the order matters, because some modules use the names above them
# `x as x` says that x is part of the namespace.
from math import e as e, inf as inf, nan as nan, pi as pi

from ._version import __version__ as __version__
from . import _C as _C
from ._C import (
    Generator as Generator,
    OutOfMemoryError as OutOfMemoryError,
    Tensor as Tensor,
    bfloat16 as bfloat16,
    bool as bool,
    can_cast as can_cast,
    complex64 as complex64,
    complex128 as complex128,
    device as device,
    dtype as dtype,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    get_default_dtype as get_default_dtype,
    get_num_threads as get_num_threads,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    is_grad_enabled as is_grad_enabled,
    promote_types as promote_types,
    set_num_threads as set_num_threads,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from ._size import Size as Size
from ._functions import *  # noqa: F403 - the operators of the table
from ._types import (
    channels_last as channels_last,
    channels_last_3d as channels_last_3d,
    contiguous_format as contiguous_format,
    finfo as finfo,
    iinfo as iinfo,
    layout as layout,
    memory_format as memory_format,
    preserve_format as preserve_format,
    strided as strided,
)
from ._creation import (
    as_tensor as as_tensor,
    from_numpy as from_numpy,
    tensor as tensor,
)
from ._defaults import (
    get_default_device as get_default_device,
    set_default_device as set_default_device,
    set_default_dtype as set_default_dtype,
)
from ._random import (
    default_generator as default_generator,
    fork_rng as fork_rng,
    get_rng_state as get_rng_state,
    initial_seed as initial_seed,
    manual_seed as manual_seed,
    seed as seed,
    set_rng_state as set_rng_state,
)
from ._storage import UntypedStorage as UntypedStorage
from ._storage_typed import (
    BFloat16Storage as BFloat16Storage,
    BoolStorage as BoolStorage,
    ByteStorage as ByteStorage,
    CharStorage as CharStorage,
    DoubleStorage as DoubleStorage,
    FloatStorage as FloatStorage,
    HalfStorage as HalfStorage,
    IntStorage as IntStorage,
    LongStorage as LongStorage,
    ShortStorage as ShortStorage,
    TypedStorage as TypedStorage,
)
from ._tensor_str import (
    get_printoptions as get_printoptions,
    printoptions as printoptions,
    set_printoptions as set_printoptions,
)
from ._buffers import asarray as asarray, from_file as from_file, frombuffer as frombuffer
from . import _tensor as _tensor
from ._tensor import (
    allclose as allclose,
    equal as equal,
    is_floating_point as is_floating_point,
    is_tensor as is_tensor,
    numel as numel,
    result_type as result_type,
)
from . import autograd as autograd
from .autograd.grad_mode import (
    enable_grad as enable_grad,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from . import (
    nn as nn,
    npu as npu,
    optim as optim,
    profiler as profiler,
    random as random,
    signal as signal,
    special as special,
)

half, float, double = float16, float32, float64
cfloat, cdouble = complex64, complex128
short, int, long = int16, int32, int64
