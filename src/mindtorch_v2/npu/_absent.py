"""Names of ``torch.cuda`` and ``torch_npu.npu`` that are not there, and what to use instead."""

from __future__ import annotations

from .._devices.absent import AbsentName as AbsentName

_GRAPHS = "use torch.npu.NPUGraph"
_COMPILED_GRAPHS = (
    "operators of a graph are not rewritten or fused; torch.npu.graph captures them as they are"
)
_GPU = "this belongs to CUDA and has no meaning on an NPU"
_SMI = "AscendCL does not tell; ask npu-smi info"
_DUMP = "AscendCL's dumps are not offered; use torch.profiler, or hooks on the modules"
_COMPILER = "operators are CANN's compiled ones; nothing is compiled or tuned while the program runs"
_RECOVERY = "a device cannot be stopped and restarted; start the process again"
_CORES = "cores cannot be divided between streams; AscendCL schedules them"
_OVERFLOW = "overflow is not recorded by the device; look for inf and nan with torch.isfinite"
_DETERMINISM = "every operator here is deterministic in the order of its launches; nothing has to be chosen"
_CRYPTO = "operators on encrypted weights are not offered"

REASONS: dict[str, str] = {
    # torch.cuda
    "CUDAGraph": _GRAPHS,
    **dict.fromkeys(
        ("NpuGraphOpHandler", "register_npu_graph_handler", "npugraph_ex", "super_kernel_scope_begin",
         "super_kernel_scope_end"),
        _COMPILED_GRAPHS,
    ),
    **dict.fromkeys(
        ("CudaError", "DeferredCudaCallError", "GreenContext", "check_error", "cudaStatus", "cudart",
         "current_blas_handle", "current_solver_handle", "get_gencode_flags", "jiterator", "nccl", "nvtx",
         "sparse", "tunable"),
        _GPU,
    ),
    "CUDAPluggableAllocator": "use torch.npu.NPUPluggableAllocator",
    **dict.fromkeys(("clock_rate", "power_draw", "temperature"), _SMI),
    # torch_npu.npu
    **dict.fromkeys(("finalize_dump", "init_dump", "set_dump"), _DUMP),
    **dict.fromkeys(
        ("CubeMathType", "are_compatible_impl_enabled", "get_mm_bmm_format_nd", "set_aoe",
         "set_mm_bmm_format_nd", "set_op_timeout_ms", "set_option", "use_compatible_impl"),
        _COMPILER,
    ),
    **dict.fromkeys(("check_uce_in_memory", "restart_device", "stop_device", "stress_detect"), _RECOVERY),
    **dict.fromkeys(
        ("get_device_limit", "get_stream_limit", "reset_stream_limit", "set_device_limit", "set_stream_limit"),
        _CORES,
    ),
    **dict.fromkeys(("clear_npu_overflow_flag", "get_npu_overflow_flag"), _OVERFLOW),
    **dict.fromkeys(
        ("disable_deterministic_with_backward", "enable_deterministic_with_backward", "set_deterministic_level"),
        _DETERMINISM,
    ),
    **dict.fromkeys(("obfuscation_calculate", "obfuscation_finalize", "obfuscation_initialize"), _CRYPTO),
    "mstx": "mark ranges with torch.profiler.record_function",
    "npurt": "call AscendCL through mindtorch_v2._backends.npu.runtime.acl",
}  # fmt: skip
