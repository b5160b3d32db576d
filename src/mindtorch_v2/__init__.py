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
    float8_e4m3fn as float8_e4m3fn,
    float8_e5m2 as float8_e5m2,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    get_default_dtype as get_default_dtype,
    get_num_threads as get_num_threads,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    is_anomaly_enabled as is_anomaly_enabled,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
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
from ._shape_functions import (
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    block_diag as block_diag,
    broadcast_shapes as broadcast_shapes,
    broadcast_tensors as broadcast_tensors,
    cartesian_prod as cartesian_prod,
    cdist as cdist,
    is_nonzero as is_nonzero,
    is_same_size as is_same_size,
    meshgrid as meshgrid,
)
from . import _tensor as _tensor, _tensor_queries as _tensor_queries
from ._tensor_queries import (
    get_device as get_device,
    is_distributed as is_distributed,
    is_inference as is_inference,
    is_signed as is_signed,
)
from ._tensor import (
    allclose as allclose,
    equal as equal,
    is_complex as is_complex,
    is_conj as is_conj,
    is_floating_point as is_floating_point,
    is_neg as is_neg,
    is_tensor as is_tensor,
    numel as numel,
    result_type as result_type,
)
from ._norm import norm as norm
from ._contractions import chain_matmul as chain_matmul, einsum as einsum
from ._contractions import tensordot as tensordot  # type: ignore[assignment] # `dims` is one argument here
from ._lowrank import (
    lu as lu,
    pca_lowrank as pca_lowrank,
    svd_lowrank as svd_lowrank,
)
from . import linalg as linalg
from . import autograd as autograd
from .autograd.grad_mode import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from . import overrides as overrides, utils as utils
from .utils.dlpack import from_dlpack as from_dlpack, to_dlpack as to_dlpack
from ._streams import Event as Event, Stream as Stream
from . import (
    accelerator as accelerator,
    fft as fft,
    masked as masked,
    nn as nn,
    npu as npu,
    ops as ops,
    optim as optim,
    profiler as profiler,
    random as random,
    signal as signal,
    special as special,
)

half, float, double = float16, float32, float64
cfloat, cdouble = complex64, complex128
short, int, long = int16, int32, int64
