// The records of CUPTI's activity interface, as far as they are read.
//
// Note [Layouts of records]
// CUPTI has a new struct with each release that adds something (CUpti_ActivityKernel9 in CUDA 12, CUpti_ActivityKernel10
// in CUDA 13), and what a library writes is the newest that it knows. They grow at the end: what is read here lies at the
// same place in all of CUDA 12 and 13. It is read by place, with a copy, because records are aligned to 8 bytes only and no
// header of NVIDIA's is needed to build. tests/cuda/test_cupti.py compares the places with those of the headers, where
// there are some.
#pragma once

#include <cstdint>
#include <cstring>

namespace mt::cuda::cupti {

enum ActivityKind : int {
  kCopies = 1,
  kFills = 2,
  kDriverCalls = 4,
  kRuntimeCalls = 5,
  kKernels = 10,  // those that run at the same time too
  kPeerCopies = 22,
  kSynchronizations = 38,
  kExternalIds = 39,
};
enum : int { kOurIds = 3 };                // CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0
enum : unsigned { kStreamWaitEvent = 2 };  // of a synchronization: the stream waits

// A field of type T so many bytes after the beginning of a record.
template <class T, int place>
struct Field {
  static constexpr int kPlace = place;
  static constexpr int kBytes = int(sizeof(T));
  static T of(const void* record) {
    T value;
    std::memcpy(&value, static_cast<const char*>(record) + place, sizeof value);
    return value;
  }
};

// name here, struct and field in NVIDIA's headers (without the number of the struct), type, place
#define MT_CUPTI_FIELDS(X)                                                           \
  X(KernelRegisters, "CUpti_ActivityKernel", "registersPerThread", uint16_t, 6)      \
  X(KernelStart, "CUpti_ActivityKernel", "start", uint64_t, 16)                      \
  X(KernelEnd, "CUpti_ActivityKernel", "end", uint64_t, 24)                          \
  X(KernelDevice, "CUpti_ActivityKernel", "deviceId", uint32_t, 40)                  \
  X(KernelStream, "CUpti_ActivityKernel", "streamId", uint32_t, 48)                  \
  X(KernelGridX, "CUpti_ActivityKernel", "gridX", int32_t, 52)                       \
  X(KernelGridY, "CUpti_ActivityKernel", "gridY", int32_t, 56)                       \
  X(KernelGridZ, "CUpti_ActivityKernel", "gridZ", int32_t, 60)                       \
  X(KernelBlockX, "CUpti_ActivityKernel", "blockX", int32_t, 64)                     \
  X(KernelBlockY, "CUpti_ActivityKernel", "blockY", int32_t, 68)                     \
  X(KernelBlockZ, "CUpti_ActivityKernel", "blockZ", int32_t, 72)                     \
  X(KernelStaticShared, "CUpti_ActivityKernel", "staticSharedMemory", int32_t, 76)   \
  X(KernelDynamicShared, "CUpti_ActivityKernel", "dynamicSharedMemory", int32_t, 80) \
  X(KernelCorrelation, "CUpti_ActivityKernel", "correlationId", uint32_t, 92)        \
  X(KernelName, "CUpti_ActivityKernel", "name", const char*, 104)                    \
  X(CopyKind, "CUpti_ActivityMemcpy", "copyKind", uint8_t, 4)                        \
  X(CopyFrom, "CUpti_ActivityMemcpy", "srcKind", uint8_t, 5)                         \
  X(CopyTo, "CUpti_ActivityMemcpy", "dstKind", uint8_t, 6)                           \
  X(CopyBytes, "CUpti_ActivityMemcpy", "bytes", uint64_t, 8)                         \
  X(CopyStart, "CUpti_ActivityMemcpy", "start", uint64_t, 16)                        \
  X(CopyEnd, "CUpti_ActivityMemcpy", "end", uint64_t, 24)                            \
  X(CopyDevice, "CUpti_ActivityMemcpy", "deviceId", uint32_t, 32)                    \
  X(CopyStream, "CUpti_ActivityMemcpy", "streamId", uint32_t, 40)                    \
  X(CopyCorrelation, "CUpti_ActivityMemcpy", "correlationId", uint32_t, 44)          \
  X(PeerCopyKind, "CUpti_ActivityMemcpyPtoP", "copyKind", uint8_t, 4)                \
  X(PeerCopyBytes, "CUpti_ActivityMemcpyPtoP", "bytes", uint64_t, 8)                 \
  X(PeerCopyStart, "CUpti_ActivityMemcpyPtoP", "start", uint64_t, 16)                \
  X(PeerCopyEnd, "CUpti_ActivityMemcpyPtoP", "end", uint64_t, 24)                    \
  X(PeerCopyDevice, "CUpti_ActivityMemcpyPtoP", "deviceId", uint32_t, 32)            \
  X(PeerCopyStream, "CUpti_ActivityMemcpyPtoP", "streamId", uint32_t, 40)            \
  X(PeerCopyCorrelation, "CUpti_ActivityMemcpyPtoP", "correlationId", uint32_t, 60)  \
  X(FillBytes, "CUpti_ActivityMemset", "bytes", uint64_t, 8)                         \
  X(FillStart, "CUpti_ActivityMemset", "start", uint64_t, 16)                        \
  X(FillEnd, "CUpti_ActivityMemset", "end", uint64_t, 24)                            \
  X(FillDevice, "CUpti_ActivityMemset", "deviceId", uint32_t, 32)                    \
  X(FillStream, "CUpti_ActivityMemset", "streamId", uint32_t, 40)                    \
  X(FillCorrelation, "CUpti_ActivityMemset", "correlationId", uint32_t, 44)          \
  X(FillMemory, "CUpti_ActivityMemset", "memoryKind", uint16_t, 50)                  \
  X(SyncType, "CUpti_ActivitySynchronization", "type", uint32_t, 4)                  \
  X(SyncStart, "CUpti_ActivitySynchronization", "start", uint64_t, 8)                \
  X(SyncEnd, "CUpti_ActivitySynchronization", "end", uint64_t, 16)                   \
  X(SyncCorrelation, "CUpti_ActivitySynchronization", "correlationId", uint32_t, 24) \
  X(ExternalKind, "CUpti_ActivityExternalCorrelation", "externalKind", uint32_t, 4)  \
  X(ExternalId, "CUpti_ActivityExternalCorrelation", "externalId", uint64_t, 8)      \
  X(ExternalCorrelation, "CUpti_ActivityExternalCorrelation", "correlationId", uint32_t, 16)

#define X(name, structure, field, type, place) using name = Field<type, place>;
MT_CUPTI_FIELDS(X)
#undef X

}  // namespace mt::cuda::cupti
