"""What traces call the device's part of them: by ACL's names, or by those that analysers of CUDA programs look for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TraceNames:
    runtime: str  # category of calls of the device's runtime
    sync: str  # category of waits on the device's tracks
    sync_kind: str  # argument of a wait: what kind it is
    awaited: str  # argument of a wait: the correlation of the recorded event
    calls: Mapping[str, str] = field(default_factory=dict)  # where a call has another name than its own


# Kineto's category for a device that is no GPU; it has none for the waits of one.
ACL = TraceNames("privateuse1_runtime", "npu_sync", "sync_kind", "wait_on_event_record_corr_id")
CUDA = TraceNames(
    "cuda_runtime",
    "cuda_sync",
    "cuda_sync_kind",
    "wait_on_cuda_event_record_corr_id",
    {
        "aclnnLaunch": "cudaLaunchKernel",
        "aclrtMemcpyAsync": "cudaMemcpyAsync",
        "aclrtMemcpy": "cudaMemcpy",
        "aclrtMemsetAsync": "cudaMemsetAsync",
        "aclrtRecordEvent": "cudaEventRecord",
        "aclrtStreamWaitEvent": "cudaStreamWaitEvent",
        "aclrtSynchronizeStream": "cudaStreamSynchronize",
        "aclrtSynchronizeEvent": "cudaEventSynchronize",
        "aclrtSynchronizeDevice": "cudaDeviceSynchronize",
    },
)
