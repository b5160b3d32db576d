#include "backends/cuda/rehearsal.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "backends/cuda/cuda_api.h"
#include "base/error.h"

namespace mt::cuda {
namespace {

constexpr size_t kMemory = size_t(1) << 30, kAlignment = 512;
constexpr Result kNotSupported = 801;

std::atomic<bool> g_rehearsing{false};
int g_major = 0, g_minor = 0;
std::mutex g_mutex;
std::vector<std::string> g_programs;

Result allocate(void** address, size_t bytes) {
  *address = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (!*address) return kOutOfMemory;
  std::memset(*address, 0, bytes);
  return 0;
}

// What a function answers that nothing depends on: it worked, or it is not there.
template <Result code, class... A>
Result answer(A...) {
  return code;
}
template <class... A>
void set_answer(Result (*&function)(A...), bool works) {
  function = works ? &answer<0, A...> : &answer<kNotSupported, A...>;
}
template <class Handle, class... A>
Result make(Handle* made, A...) {
  *made = reinterpret_cast<Handle>(std::malloc(1));
  return 0;
}

CudaApi silent_driver() {
  CudaApi api;
#define X(name, symbol, parameters) set_answer(api.name, true);
  MT_CUDA_FUNCTIONS(X)
#undef X
  set_answer(api.reserve, false);
  set_answer(api.ipc_get_event, false);
  set_answer(api.ipc_open_event, false);
  set_answer(api.begin_capture, false);
  set_answer(api.graph_instantiate, false);
  api.error_name = api.error_text = [](Result, const char** text) {
    *text = "refused in a rehearsal";
    return Result(0);
  };
  api.driver_version = [](int* version) { return *version = 13000, Result(0); };
  api.device_count = [](int* count) { return *count = 1, Result(0); };
  api.device_get = [](DeviceNumber* device, int ordinal) { return *device = ordinal, Result(0); };
  api.device_name = [](char* name, int length, DeviceNumber) {
    std::snprintf(name, size_t(length), "rehearsal");
    return Result(0);
  };
  api.device_uuid = [](void* uuid, DeviceNumber) { return std::memset(uuid, 0, 16), Result(0); };
  // Sizes that every chip has at least, so that a kernel which asks for them is chosen as on a real one.
  api.device_attribute = [](int* value, int which, DeviceNumber) {
    switch (which) {
      case kMajor: *value = g_major; break;
      case kMinor: *value = g_minor; break;
      case kProcessors: *value = 108; break;
      case kWarpSize: *value = 32; break;
      case kMaxSharedPerBlock: *value = 48 << 10; break;
      case kSharedPerProcessor:
      case kSharedOptIn: *value = 160 << 10; break;
      case kThreadsPerProcessor: *value = 2048; break;
      case kRegistersPerProcessor: *value = 65536; break;
      case kL2Bytes: *value = 40 << 20; break;
      default: *value = 1;
    }
    return Result(0);
  };
  api.device_memory = [](size_t* bytes, DeviceNumber) { return *bytes = kMemory, Result(0); };
  api.memory_info = [](size_t* free, size_t* total) { return *free = *total = kMemory, Result(0); };
  api.primary_context = [](Context* context, DeviceNumber) { return make(context); };
  api.get_context = [](Context* context) { return make(context); };
  api.priority_range = [](int* least, int* greatest) { return *least = *greatest = 0, Result(0); };
  api.stream_create = &make<Stream, unsigned, int>;
  api.event_create = &make<Event, unsigned>;
  api.event_elapsed = [](float* ms, Event, Event) { return *ms = 0, Result(0); };
  api.memory_alloc = [](DevicePointer* address, size_t bytes) {
    return allocate(reinterpret_cast<void**>(address), bytes);
  };
  api.memory_free = [](DevicePointer address) {
    std::free(reinterpret_cast<void*>(address));
    return Result(0);
  };
  api.host_alloc = [](void** address, size_t bytes, unsigned) { return allocate(address, bytes); };
  api.host_free = [](void* address) { return std::free(address), Result(0); };
  api.copy = [](DevicePointer to, DevicePointer from, size_t bytes) {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return Result(0);
  };
  api.copy_async = [](DevicePointer to, DevicePointer from, size_t bytes, Stream) {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return Result(0);
  };
  api.can_access_peer = [](int* possible, DeviceNumber, DeviceNumber) { return *possible = 0, Result(0); };
  api.capture_info = [](Stream, int* status, unsigned long long*, Graph*, const void*, size_t*) {
    return *status = kCaptureNone, Result(0);
  };
  return api;
}

}  // namespace

void rehearse(const std::string& architecture) {
  int number = 0;
  const bool known =
      std::sscanf(architecture.c_str(), "sm_%d", &number) == 1 && number >= 50 && number < 1000;
  MT_CHECK_AS(value, known, "an architecture is written as sm_90, but got '", architecture, "'");
  g_major = number / 10, g_minor = number % 10;
  replace_driver(new CudaApi(silent_driver()));
  g_rehearsing = true;
}

bool rehearsing() noexcept { return g_rehearsing.load(std::memory_order_relaxed); }

void note_program(const std::string& source) {
  const std::lock_guard guard(g_mutex);
  if (std::ranges::find(g_programs, source) == g_programs.end()) g_programs.push_back(source);
}

std::vector<std::string> rehearsed_programs() {
  const std::lock_guard guard(g_mutex);
  return g_programs;
}

}  // namespace mt::cuda
