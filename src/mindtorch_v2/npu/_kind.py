"""The NPU as a kind of device: what the library asks of one besides its module. Note [A kind of device]."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _C, _utils
from .._devices.accelerator import Accelerator


def _rebuild_npu_tensor(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    npu_storage_info: Any,
) -> Any:
    """Files of old versions of torch_npu: values on the host, meant for the current NPU."""
    made = _utils._rebuild_tensor(storage, storage_offset, size, stride)
    return _utils._finish(made.to(_utils._target_device("npu")), requires_grad, None)


_LOWER = (_C.bfloat16, _C.float16)
# HCCL's collectives as NCCL's kernels are called, which analysers know for communication.
_COLLECTIVES = {
    f"Hccl{ours}": f"ncclDevKernel_{theirs}"
    for ours, theirs in {
        "AllReduce": "AllReduce", "Reduce": "Reduce", "Broadcast": "Broadcast", "AllGather": "AllGather",
        "ReduceScatter": "ReduceScatter", "Scatter": "Scatter", "AlltoAllV": "SendRecv", "Send": "SendRecv",
        "Recv": "SendRecv", "Barrier": "AllReduce",
    }.items()
}  # fmt: skip


class Npu(Accelerator):
    packages: Sequence[str] = ("torch_npu",)
    command_line = "softnpu._command_line"
    collectives: Mapping[str, str] = {"hccl": "npu._hccl"}

    moved_modules: Mapping[str, str] = {"torch_npu.utils.storage": "torch.npu._kind"}
    file_functions: Mapping[str, Callable[..., Any]] = {
        "torch_npu.utils.storage._rebuild_npu_tensor": _rebuild_npu_tensor
    }

    runtime = "acl"
    calls_elsewhere: Mapping[str, Mapping[str, str]] = {
        "cuda": {
            "aclnnLaunch": "cudaLaunchKernel",
            "aclrtMemcpyAsync": "cudaMemcpyAsync",
            "aclrtMemcpy": "cudaMemcpy",
            "aclrtMemsetAsync": "cudaMemsetAsync",
            "aclrtRecordEvent": "cudaEventRecord",
            "aclrtStreamWaitEvent": "cudaStreamWaitEvent",
            "aclrtSynchronizeStream": "cudaStreamSynchronize",
            "aclrtSynchronizeEvent": "cudaEventSynchronize",
            "aclrtSynchronizeDevice": "cudaDeviceSynchronize",
            **dict.fromkeys(_COLLECTIVES, "cudaLaunchKernel"),
        }
    }
    tasks_elsewhere: Mapping[str, Mapping[str, str]] = {"cuda": _COLLECTIVES}

    def __init__(self, module: Any) -> None:
        super().__init__("npu", module, _C._npu.current_device)

    def lower_dtypes(self) -> Sequence[Any]:
        return _LOWER

    def check_saved(self, name: str) -> None:
        if name.startswith("npu_format_/") and name not in ("npu_format_/ND", "npu_format_/NCHW"):
            raise NotImplementedError(
                f"the tensor was saved in the NPU's private format {name.split('/')[1]}; convert it with "
                "torch_npu.npu_format_cast(tensor, 2) before saving"
            )

    def complete(self, package: Any) -> None:
        self.module.profiler = package.profiler  # as torch_npu has it
