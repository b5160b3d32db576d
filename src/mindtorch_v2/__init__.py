"""MindTorch v2: PyTorch's API with a core of its own, and accelerators that register themselves.

import mindtorch_v2 as torch
"""

# ruff: noqa: I001 - the order matters, because some modules use the names above them
# `x as x` says that x is part of the namespace.
from math import e as e, inf as inf, nan as nan, pi as pi

import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from . import _absent as _absent, version as version
from ._version import __version__ as _own_version
from ._settings.blas_threads import none_of_its_own as _no_blas_threads

with _no_blas_threads():
    from . import _C as _C
from ._C import (
    AcceleratorError as AcceleratorError,
    Generator as Generator,
    OutOfMemoryError as OutOfMemoryError,
    StorageBase as StorageBase,
    Tensor as Tensor,
    bfloat16 as bfloat16,
    bool as bool,
    can_cast as can_cast,
    complex32 as complex32,
    complex64 as complex64,
    complex128 as complex128,
    device as device,
    dtype as dtype,
    float8_e4m3fn as float8_e4m3fn,
    float8_e4m3fnuz as float8_e4m3fnuz,
    float8_e5m2 as float8_e5m2,
    float8_e5m2fnuz as float8_e5m2fnuz,
    float8_e8m0fnu as float8_e8m0fnu,
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
from ._types.size import Size as Size
from ._functions import *  # noqa: F403 - the operators of the table
from ._types.formats import (
    _mkldnn as _mkldnn,
    channels_last as channels_last,
    channels_last_3d as channels_last_3d,
    contiguous_format as contiguous_format,
    jagged as jagged,
    layout as layout,
    legacy_contiguous_format as legacy_contiguous_format,
    memory_format as memory_format,
    preserve_format as preserve_format,
    sparse_bsc as sparse_bsc,
    sparse_bsr as sparse_bsr,
    sparse_coo as sparse_coo,
    sparse_csc as sparse_csc,
    sparse_csr as sparse_csr,
    strided as strided,
)
from ._types.tag import Tag as Tag
from ._types.limits import finfo as finfo, iinfo as iinfo
from ._creation import (
    as_tensor as as_tensor,
    from_numpy as from_numpy,
    tensor as tensor,
)
from ._settings.defaults import (
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
from ._storage import UntypedStorage as UntypedStorage, before_sharing as _before_sharing
from ._storage_typed import (
    BFloat16Storage as BFloat16Storage,
    BoolStorage as BoolStorage,
    ByteStorage as ByteStorage,
    CharStorage as CharStorage,
    ComplexDoubleStorage as ComplexDoubleStorage,
    ComplexFloatStorage as ComplexFloatStorage,
    DoubleStorage as DoubleStorage,
    FloatStorage as FloatStorage,
    HalfStorage as HalfStorage,
    IntStorage as IntStorage,
    LongStorage as LongStorage,
    ShortStorage as ShortStorage,
    TypedStorage as TypedStorage,
    _dtype_to_storage_type_map,
    _storage_classes as _storage_classes,
    is_storage as is_storage,
)
from ._tensor.legacy_types import (
    BFloat16Tensor as BFloat16Tensor,
    BoolTensor as BoolTensor,
    ByteTensor as ByteTensor,
    CharTensor as CharTensor,
    DoubleTensor as DoubleTensor,
    FloatTensor as FloatTensor,
    HalfTensor as HalfTensor,
    IntTensor as IntTensor,
    LongTensor as LongTensor,
    ShortTensor as ShortTensor,
    set_default_tensor_type as set_default_tensor_type,
    tensortype as tensortype,
    _tensor_classes as _tensor_classes,
)
from ._tensor_str import (
    get_printoptions as get_printoptions,
    printoptions as printoptions,
    set_printoptions as set_printoptions,
)
from ._tensor.buffers import asarray as asarray, from_file as from_file, frombuffer as frombuffer
from ._functions.shapes import (
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
from . import _tensor as _tensor
from ._tensor.queries import (
    allclose as allclose,
    equal as equal,
    get_device as get_device,
    is_complex as is_complex,
    is_conj as is_conj,
    is_distributed as is_distributed,
    is_floating_point as is_floating_point,
    is_inference as is_inference,
    is_neg as is_neg,
    is_signed as is_signed,
    is_tensor as is_tensor,
    numel as numel,
    result_type as result_type,
)
from ._functions.norms import norm as norm
from ._settings import tracebacks as _tracebacks  # noqa: F401 - it adds names to _C
from ._tensor.sparse import resize_as_sparse_ as resize_as_sparse_
from ._settings.checks import (
    SymBool as SymBool,
    SymFloat as SymFloat,
    SymInt as SymInt,
    _check as _check,
    _check_index as _check_index,
    _check_is_size as _check_is_size,
    _check_not_implemented as _check_not_implemented,
    _check_tensor_all as _check_tensor_all,
    _check_tensor_all_with as _check_tensor_all_with,
    _check_type as _check_type,
    _check_value as _check_value,
    _check_with as _check_with,
    sym_float as sym_float,
    sym_int as sym_int,
    sym_max as sym_max,
    sym_min as sym_min,
    sym_not as sym_not,
    typename as typename,
)
from ._settings.flags import (
    are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
    compiled_with_cxx11_abi as compiled_with_cxx11_abi,
    get_deterministic_debug_mode as get_deterministic_debug_mode,
    get_float32_matmul_precision as get_float32_matmul_precision,
    get_num_interop_threads as get_num_interop_threads,
    is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
    is_warn_always_enabled as is_warn_always_enabled,
    set_deterministic_debug_mode as set_deterministic_debug_mode,
    set_float32_matmul_precision as set_float32_matmul_precision,
    set_flush_denormal as set_flush_denormal,
    set_num_interop_threads as set_num_interop_threads,
    set_warn_always as set_warn_always,
    use_deterministic_algorithms as use_deterministic_algorithms,
)
from ._functions.contractions import chain_matmul as chain_matmul, einsum as einsum
from ._functions.contractions import tensordot as tensordot  # type: ignore[assignment] # `dims` is one argument here
from ._functions.factors import lu as lu
from ._lowrank import pca_lowrank as pca_lowrank, svd_lowrank as svd_lowrank
from . import linalg as linalg
from ._sparse.creation import (
    _validate_sparse_bsc_tensor_args as _validate_sparse_bsc_tensor_args,
    _validate_sparse_bsr_tensor_args as _validate_sparse_bsr_tensor_args,
    _validate_sparse_compressed_tensor_args as _validate_sparse_compressed_tensor_args,
    _validate_sparse_coo_tensor_args as _validate_sparse_coo_tensor_args,
    _validate_sparse_csc_tensor_args as _validate_sparse_csc_tensor_args,
    _validate_sparse_csr_tensor_args as _validate_sparse_csr_tensor_args,
    sparse_bsc_tensor as sparse_bsc_tensor,
    sparse_bsr_tensor as sparse_bsr_tensor,
    sparse_compressed_tensor as sparse_compressed_tensor,
    sparse_coo_tensor as sparse_coo_tensor,
    sparse_csc_tensor as sparse_csc_tensor,
    sparse_csr_tensor as sparse_csr_tensor,
)
from . import autograd as autograd
from .autograd.grad_mode import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from . import overrides as overrides, utils as utils
from . import amp as amp
from .amp._state import (
    autocast_decrement_nesting as autocast_decrement_nesting,
    autocast_increment_nesting as autocast_increment_nesting,
    clear_autocast_cache as clear_autocast_cache,
    get_autocast_cpu_dtype as get_autocast_cpu_dtype,
    get_autocast_dtype as get_autocast_dtype,
    get_autocast_gpu_dtype as get_autocast_gpu_dtype,
    is_autocast_cache_enabled as is_autocast_cache_enabled,
    is_autocast_cpu_enabled as is_autocast_cpu_enabled,
    is_autocast_enabled as is_autocast_enabled,
    set_autocast_cache_enabled as set_autocast_cache_enabled,
    set_autocast_cpu_dtype as set_autocast_cpu_dtype,
    set_autocast_cpu_enabled as set_autocast_cpu_enabled,
    set_autocast_dtype as set_autocast_dtype,
    set_autocast_enabled as set_autocast_enabled,
    set_autocast_gpu_dtype as set_autocast_gpu_dtype,
)
from .amp import autocast as autocast
from .utils.dlpack import from_dlpack as from_dlpack, to_dlpack as to_dlpack
from ._devices import registry as _devices_registry
from ._devices.memory import snapshot_pages as _snapshot_pages
from ._devices.registry import get_device_module as get_device_module
from ._devices.streams import Event as Event, Stream as Stream
from . import (
    fft as fft,
    nn as nn,
    profiler as profiler,
    random as random,
    special as special,
)

for _device_type in _devices_registry.built_in():
    _import_module(f"{__name__}.{_device_type}")

for _kind in (
    dtype,
    device,
    Generator,
    Size,
    AcceleratorError,
    OutOfMemoryError,
    memory_format,
    layout,
    finfo,
    iinfo,
):
    _kind.__module__ = __name__

# Programs that say `import torch` check PyTorch's version. Note [Under the name torch] in _as_torch.
if __name__ == "torch":
    from .torch_version import TorchVersion

    __version__: str = TorchVersion(version.__version__)
else:
    __version__ = _own_version

if TYPE_CHECKING:
    from . import (
        __config__ as __config__,
        __future__ as __future__,
        _VF as _VF,
        _dynamo as _dynamo,
        _jit_internal as _jit_internal,
        _ops as _ops,
        accelerator as accelerator,
        ao as ao,
        backends as backends,
        compiler as compiler,
        cpu as cpu,
        cuda as cuda,
        distributed as distributed,
        distributions as distributions,
        func as func,
        functional as functional,
        futures as futures,
        hub as hub,
        jit as jit,
        library as library,
        masked as masked,
        multiprocessing as multiprocessing,
        ops as ops,
        quantization as quantization,
        quasirandom as quasirandom,
        return_types as return_types,
        serialization as serialization,
        signal as signal,
        storage as storage,
        testing as testing,
        torch_version as torch_version,
        types as types,
        xpu as xpu,
    )
    from ._functions.rare import (
        _assert as _assert,
        _assert_async as _assert_async,
        _functional_assert_async as _functional_assert_async,
        _int_mm as _int_mm,
        _shape_as_tensor as _shape_as_tensor,
        _sym_acos as _sym_acos,
        _sym_asin as _sym_asin,
        _sym_atan as _sym_atan,
        _sym_cos as _sym_cos,
        _sym_cosh as _sym_cosh,
        _sym_log2 as _sym_log2,
        _sym_sin as _sym_sin,
        _sym_sinh as _sym_sinh,
        _sym_sqrt as _sym_sqrt,
        _sym_tan as _sym_tan,
        _sym_tanh as _sym_tanh,
        _weight_norm as _weight_norm,
        cond as cond,
        eig as eig,
        frobenius_norm as frobenius_norm,
        lstsq as lstsq,
        matrix_rank as matrix_rank,
        norm_except_dim as norm_except_dim,
        nuclear_norm as nuclear_norm,
        set_anomaly_enabled as set_anomaly_enabled,
        solve as solve,
        sym_ite as sym_ite,
        sym_sqrt as sym_sqrt,
        sym_sum as sym_sum,
        symeig as symeig,
        vander as vander,
        while_loop as while_loop,
    )
    from ._devices.private_use import _register_device_module as _register_device_module
    from .compiler import compile as compile
    from .func import vmap as vmap
    from .overrides import (
        DisableTorchFunction as DisableTorchFunction,
        DisableTorchFunctionSubclass as DisableTorchFunctionSubclass,
    )
    from .amp import GradScaler as GradScaler
    from .serialization import load as load, save as save

# Namespaces that few programs use: loaded when first asked for, so that importing the package stays fast.
_LAZY_MODULES = {
    "__config__",
    "__future__",
    "_VF",
    "_decomp",
    "_dynamo",
    "_functorch",
    "_guards",
    "_jit_internal",
    "_lobpcg",
    "_ops",
    "_subclasses",
    "_vmap_internals",
    "accelerator",
    "ao",
    "backends",
    "compiler",
    "cpu",
    "cuda",
    "distributed",
    "distributions",
    "func",
    "functional",
    "futures",
    "fx",
    "hub",
    "jit",
    "library",
    "masked",
    "multiprocessing",
    "nested",
    "ops",
    "optim",
    "quantization",
    "quasirandom",
    "return_types",
    "serialization",
    "signal",
    "sparse",
    "storage",
    "testing",
    "torch_version",
    "types",
    "xpu",
}
_LAZY_NAMES = {
    "DisableTorchFunction": "overrides",
    "DisableTorchFunctionSubclass": "overrides",
    "_register_device_module": "_devices.private_use",
    "_test_autograd_multiple_dispatch": "autograd._test_operators",
    "_test_autograd_multiple_dispatch_view": "autograd._test_operators",
    "_test_autograd_multiple_dispatch_view_copy": "autograd._test_operators",
    "compile": "compiler",
    "Future": "futures",
    "GradScaler": "amp",
    "PyTorchFileReader": "_serialization.archives",
    "PyTorchFileWriter": "_serialization.archives",
    "ScriptModule": "jit",
    "fork": "jit",
    "load": "serialization",
    "lobpcg": "_lobpcg",
    "save": "serialization",
    "vmap": "func",
    "wait": "jit",
    **dict.fromkeys(
        (
            "_assert", "_assert_async", "_functional_assert_async", "_convert_indices_from_coo_to_csr",
            "_debug_has_internal_overlap",
            "_convert_indices_from_csr_to_coo", "_int_mm", "_shape_as_tensor", "cond", "eig", "frobenius_norm",
            "_test_check_tensor", "_test_parallel_materialize", "lstsq", "matrix_rank",
            "norm_except_dim", "nuclear_norm", "set_anomaly_enabled", "solve",
            "_sym_acos", "_sym_asin", "_sym_atan", "_sym_cos", "_sym_cosh", "_sym_log2", "_sym_sin", "_sym_sinh",
            "_sym_sqrt", "_sym_tan", "_sym_tanh", "_weight_norm", "sym_ite", "sym_sqrt", "sym_sum", "symeig", "vander",
            "while_loop",
        ),
        "_functions.rare",
    ),
}  # fmt: skip


_names_that_refuse = _absent.names_of(__name__)


def __getattr__(name: str) -> Any:
    if name == "torch":  # PyTorch has it, because it imports itself
        return _import_module(__name__)
    if name == "Storage":  # that of the default dtype
        return globals()[_dtype_to_storage_type_map()[get_default_dtype()]]
    if name in _LAZY_MODULES:
        return _import_module(f"{__name__}.{name}")
    if name in _LAZY_NAMES:
        found = globals()[name] = getattr(_import_module(f"{__name__}.{_LAZY_NAMES[name]}"), name)
        return found
    return _names_that_refuse(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY_MODULES, *_LAZY_NAMES})


# Modules and private names that are not here. Note [Names that refuse] in _absent.
_absent.install()
_names_that_refuse_below = _absent.names_of(f"{__name__}._C")


def _native_name(name: str) -> Any:
    """What PyTorch has in its native module, and is written in Python here."""
    if name in ("PyTorchFileReader", "PyTorchFileWriter"):
        return __getattr__(name)
    if name.endswith(("_cached_tensor", "_cached_tensors_enabled")):
        return getattr(_import_module(f"{__name__}.autograd._engine").cached_tensors, name)
    return _names_that_refuse_below(name)


setattr(_C, "__getattr__", _native_name)  # noqa: B010 - a module's, not its type's
_C.__path__ = []  # so that `import torch._C._dynamo` looks for a finder

# What modules below need of the whole package is handed down to them.
overrides.namespaces.update(
    {
        "torch": _sys.modules[__name__],
        "torch.nn.functional": nn.functional,
        "torch.linalg": linalg,
        "torch.fft": fft,
        "torch.special": special,
    }
)
overrides.ask_first(_sys.modules[__name__], overrides._asks)
# What these call asks.
overrides.ask_first(
    nn.functional, lambda name: not name.startswith(("_", "upsample")) and name not in ("sigmoid", "tanh")
)
overrides.ask_first(autograd, {"grad", "backward"}.__contains__)
overrides.ask_first(nn.init, {"uniform_", "normal_", "constant_", "kaiming_uniform_"}.__contains__)
for _found in _devices_registry.accelerators.values():
    _LAZY_MODULES.update(_found.packages)
    _found.complete(_sys.modules[__name__])
autograd._above.func = lambda: _import_module(f"{__name__}.func")
_before_sharing.append(lambda: _import_module(f"{__name__}.multiprocessing"))
_snapshot_pages.append(lambda path: str(_import_module(f"{__name__}.memory_tools").write_page(path)))
_devices_registry.register_modules(("cpu", "cuda", "xpu"), lambda kind: _import_module(f"{__name__}.{kind}"))

newaxis = None
half, float, double = float16, float32, float64
chalf, cfloat, cdouble = complex32, complex64, complex128
short, int, long = int16, int32, int64
