// NCCL's C interface, as far as collectives use it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mt::cuda::nccl {

using Status = int;  // 0 is success
using Communicator = struct CommunicatorOf*;
struct UniqueId {
  char bytes[128];
};

enum : Status { kInProgress = 7 };
enum Number : int {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9,
  kFloat8E4m3 = 10,
  kFloat8E5m2 = 11,
};
enum Reduction : int { kSum = 0, kProduct = 1, kMax = 2, kMin = 3, kAverage = 4 };

#define MT_NCCL_FUNCTIONS(X)                                                                                 \
  X(new_id, "ncclGetUniqueId", (UniqueId * id))                                                              \
  X(join, "ncclCommInitRank", (Communicator * made, int ranks, UniqueId id, int rank))                       \
  X(finalize, "ncclCommFinalize", (Communicator communicator))                                               \
  X(destroy, "ncclCommDestroy", (Communicator communicator))                                                 \
  X(abort, "ncclCommAbort", (Communicator communicator))                                                     \
  X(asynchronous_error, "ncclCommGetAsyncError", (Communicator communicator, Status * error))                \
  X(all_reduce, "ncclAllReduce",                                                                             \
    (const void* from, void* to, size_t count, int type, int reduction, Communicator communicator,           \
     void* stream))                                                                                          \
  X(reduce, "ncclReduce",                                                                                    \
    (const void* from, void* to, size_t count, int type, int reduction, int root, Communicator communicator, \
     void* stream))                                                                                          \
  X(broadcast, "ncclBroadcast",                                                                              \
    (const void* from, void* to, size_t count, int type, int root, Communicator communicator, void* stream)) \
  X(all_gather, "ncclAllGather",                                                                             \
    (const void* from, void* to, size_t count_sent, int type, Communicator communicator, void* stream))      \
  X(reduce_scatter, "ncclReduceScatter",                                                                     \
    (const void* from, void* to, size_t count_received, int type, int reduction, Communicator communicator,  \
     void* stream))                                                                                          \
  X(send, "ncclSend",                                                                                        \
    (const void* from, size_t count, int type, int peer, Communicator communicator, void* stream))           \
  X(receive, "ncclRecv",                                                                                     \
    (void* to, size_t count, int type, int peer, Communicator communicator, void* stream))                   \
  X(group_start, "ncclGroupStart", ())                                                                       \
  X(group_end, "ncclGroupEnd", ())

struct Api {
#define X(name, symbol, parameters) Status(*name) parameters = nullptr;
  MT_NCCL_FUNCTIONS(X)
#undef X
  const char* (*error_text)(Status code) = nullptr;
  const char* (*last_error)(Communicator communicator) = nullptr;
};

const Api& api();  // opens the library; throws where it is missing

// Throws with the function, NCCL's text of the error and the last message of its log.
[[noreturn]] void fail_nccl(Status code, const char* function, Communicator communicator = nullptr);
inline void check(Status code, const char* function, Communicator communicator = nullptr) {
  if (code != 0 && code != kInProgress) [[unlikely]]
    fail_nccl(code, function, communicator);
}

}  // namespace mt::cuda::nccl
