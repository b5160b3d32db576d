// CUPTI's activity interface in C, as far as the profiler uses it: real times of what the device did.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mt::cuda::cupti {

using Status = int;  // 0 is success
enum : Status { kNoMoreRecords = 12 };

enum : unsigned { kForced = 1 };  // of flush: unfinished buffers, too

struct Record {  // every record begins so
  int kind;
};
using BufferWanted = void (*)(uint8_t** buffer, size_t* bytes, size_t* most_records);
using BufferDone = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes,
                            size_t valid_bytes);

#define MT_CUPTI_FUNCTIONS(X)                                                                              \
  X(timestamp, "cuptiGetTimestamp", (uint64_t* nanoseconds))                                               \
  X(enable, "cuptiActivityEnable", (int kind))                                                             \
  X(disable, "cuptiActivityDisable", (int kind))                                                           \
  X(register_buffers, "cuptiActivityRegisterCallbacks", (BufferWanted wanted, BufferDone done))            \
  X(next_record, "cuptiActivityGetNextRecord", (uint8_t* buffer, size_t valid_bytes, Record** record))     \
  X(dropped_records, "cuptiActivityGetNumDroppedRecords", (void* context, uint32_t stream, size_t* count)) \
  X(flush, "cuptiActivityFlushAll", (uint32_t flag))                                                       \
  X(push_id, "cuptiActivityPushExternalCorrelationId", (int kind, uint64_t id))                            \
  X(pop_id, "cuptiActivityPopExternalCorrelationId", (int kind, uint64_t* last))                           \
  X(stream_id, "cuptiGetStreamIdEx", (void* context, void* stream, uint8_t per_thread, uint32_t* id))      \
  X(result_text, "cuptiGetResultString", (Status code, const char** text))

struct Api {
#define X(name, symbol, parameters) Status(*name) parameters = nullptr;
  MT_CUPTI_FUNCTIONS(X)
#undef X
};

const Api& api();  // opens the library; throws where it is missing

[[noreturn]] void fail_cupti(Status code, const char* function);
inline void check(Status code, const char* function) {
  if (code != 0) [[unlikely]]
    fail_cupti(code, function);
}

}  // namespace mt::cuda::cupti
