// The NPU as the device seam sees it, and what operators need of it on every call: the right device on this thread,
// its current stream, its memory.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "backends/npu/acl_api.h"
#include "core/device.h"
#include "core/host_memory.h"  // before thread_state.h, which it completes
#include "core/thread_state.h"
#include "runtime/device.h"
#include "runtime/pinned_pool.h"
#include "runtime/registry.h"

namespace mt::npu {

inline constexpr int kMaxDevices = runtime::AllocatorRegistry::kMaxDevices;

// Where the host program is: a code object of Python, which the position keeps alive, and the instruction in it.
struct HostPosition {
  void* code = nullptr;
  int instruction = 0;
};

// What the Python side does for the device. Called on slow paths only, `position` excepted; every function but
// that one may take the GIL.
struct HostHooks {
  void (*prepare)() = nullptr;  // loads the libraries or throws an error that says how
  void (*synchronize)(int device,
                      void* stream) = nullptr;  // waits for a stream of the device, without the GIL
  runtime::PinnedPool& (*pinned_pool)() = nullptr;
  HostPosition (*position)() = nullptr;                  // none on a thread that does not hold the GIL
  void (*drop_position)(const HostPosition&) = nullptr;  // with the GIL
  std::string (*describe_position)(const HostPosition&) = nullptr;  // with the GIL
  void (*with_lock)(const std::function<void()>&) = nullptr;        // runs it with the GIL
};
void set_host_hooks(HostHooks hooks);
const HostHooks& host_hooks();

// Handles of the default streams; null for a device that has not been opened.
extern std::array<std::atomic<void*>, kMaxDevices> g_default_streams;

class NpuRuntime final : public runtime::DeviceRuntime {
 public:
  const char* name() const override { return "npu"; }

  int device_count() override;
  int current_device() override;
  void set_device(int device) override;
  void synchronize_device(int device) override;
  runtime::MemoryInfo memory_info(int device) override;

  runtime::Stream default_stream(int device) override;
  runtime::Stream create_stream(int device, int priority) override;
  void destroy_stream(const runtime::Stream& stream) override;
  void synchronize_stream(const runtime::Stream& stream) override;
  bool stream_is_idle(const runtime::Stream& stream) override;
  // One of a few streams per device and priority, in turn; they are never destroyed, so a handle stays valid.
  runtime::Stream pooled_stream(int device, int priority);

  runtime::EventHandle create_event(int device, runtime::EventOptions options) override;
  void destroy_event(runtime::EventHandle event) override;
  void record_event(runtime::EventHandle event, const runtime::Stream& stream) override;
  bool event_is_complete(runtime::EventHandle event) override;
  void synchronize_event(runtime::EventHandle event) override;
  void make_stream_wait(const runtime::Stream& stream, runtime::EventHandle event) override;
  float elapsed_ms(runtime::EventHandle begin, runtime::EventHandle end) override;
  int64_t event_time_us(runtime::EventHandle event) override;

  runtime::Address allocate(int device, size_t bytes) override;
  void free(int device, runtime::Address address) override;
  runtime::Address allocate_pinned(size_t bytes) override;
  void free_pinned(runtime::Address address) override;

  void copy(runtime::Address to, runtime::Address from, size_t bytes, runtime::CopyKind kind) override;
  void copy_async(runtime::Address to, runtime::Address from, size_t bytes, runtime::CopyKind kind,
                  const runtime::Stream& stream) override;
  void fill_async(runtime::Address to, uint8_t value, size_t bytes, const runtime::Stream& stream) override;

  // Memory behind reserved addresses, for segments that grow in place.
  bool has_virtual_memory();
  runtime::Address reserve_addresses(int device, size_t bytes);
  void release_addresses(int device, runtime::Address address);
  runtime::MappingHandle map_memory(int device, runtime::Address address, size_t bytes);
  void unmap_memory(int device, runtime::Address address, runtime::MappingHandle memory);

  // An event that another process can wait for, as bytes that open it there.
  std::string export_event(runtime::EventHandle event);
  runtime::EventHandle import_event(int device, const std::string& bytes);

  // Loads and initialises AscendCL; throws when there is no NPU. Called again it costs one load.
  void initialize();
  bool is_in_bad_fork() const;  // this process is a fork of one that used the device
  bool is_initialized() const { return initialized_.load(std::memory_order_acquire); }
  // Makes the device ready: its context, its default stream. Throws for an index that does not exist.
  void open(int device);
  bool is_open(int device) const {
    return device >= 0 && device < kMaxDevices && default_stream_handle(device);
  }
  static void* default_stream_handle(int device) {
    return g_default_streams[size_t(device)].load(std::memory_order_acquire);
  }
  void* context(int device) const { return contexts_[device]; }

 private:
  static constexpr size_t kStreamsPerPool = 32;
  struct StreamPool {
    std::vector<runtime::Stream> streams;
    size_t next = 0;
  };

  std::atomic<bool> initialized_{false};
  std::atomic<int> count_{0};
  std::array<void*, kMaxDevices> contexts_{};
  std::mutex mutex_;                     // initialisation, and the pools below
  static constexpr int kPriorities = 8;  // of AscendCL, 0 is the highest
  std::array<std::array<StreamPool, kPriorities>, kMaxDevices> pools_{};
  std::atomic<int64_t> next_stream_id_{1};
};

NpuRuntime& npu();

void activate_slowly(int device);
inline void activate(int device) {
  if (thread_state().active_npu != device) [[unlikely]]
    activate_slowly(device);
}
// For code that changed the device of this thread behind our back.
void forget_active_device();

void* current_stream_slowly(int device);
// The handle of this thread's current stream on the device, which must be open.
inline void* current_stream(int device) {
  const ThreadState& state = thread_state();
  if (device == state.current_npu) [[likely]] {
    if (state.npu_stream) return state.npu_stream;
    if (void* stream = NpuRuntime::default_stream_handle(device)) [[likely]]
      return stream;
  }
  return current_stream_slowly(device);
}
void set_current_stream(int device, void* stream);  // null: the default stream

// `waiting` does nothing more before everything now enqueued on `finished` is done.
void make_wait(int device, void* waiting, void* finished);
void make_wait_across(int waiting_device, void* waiting, int finished_device, void* finished);

runtime::CachingAllocator& allocator(int device);

// Every launch waits for its end (ACL_LAUNCH_BLOCKING=1 or ASCEND_LAUNCH_BLOCKING=1 when the device was initialised).
extern bool g_launch_blocking;
bool launch_blocking_asked();  // by the environment, now

// What a wait inside an operator does besides (torch.npu.set_sync_debug_mode).
enum class SyncDebugMode { off, warn, error };
extern std::atomic<SyncDebugMode> g_sync_debug_mode;
void report_wait();  // called where the host is about to wait for a stream

}  // namespace mt::npu
