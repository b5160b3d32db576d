// AscendCL as a driver, and the NPU as an accelerator over it; what operators need of both on every call.
#pragma once

#include <array>

#include "backends/npu/acl_api.h"
#include "core/current_stream.h"
#include "devices/stream_accelerator.h"

namespace mt::npu {

inline constexpr DeviceType kSlot = DeviceType::accelerator;

class NpuDriver final : public runtime::DeviceDriver {
 public:
  const runtime::DriverCalls& calls() const override;

  int initialize() override;
  StreamHandle open(int device) override;
  void activate(int device) override;
  void* context(int device) const { return contexts_[size_t(device)]; }

  void synchronize_device() override;
  MemoryInfo memory_info() override;

  StreamHandle create_stream(int priority) override;
  void synchronize_stream(StreamHandle stream) override;
  bool stream_is_idle(StreamHandle stream) override;

  EventHandle create_event(EventOptions options) override;
  void destroy_event(EventHandle event) override;
  void record_event(EventHandle event, StreamHandle stream) override;
  bool event_is_complete(EventHandle event) override;
  void synchronize_event(EventHandle event) override;
  void make_stream_wait(StreamHandle stream, EventHandle event) override;
  float elapsed_ms(EventHandle begin, EventHandle end) override;
  int64_t event_time_us(EventHandle event) override;
  std::string export_event(EventHandle event) override;
  EventHandle import_event(const std::string& bytes) override;

  runtime::RawMemory allocate(size_t bytes) override;
  void free(Address address) override;
  runtime::RawMemory allocate_pinned(size_t bytes) override;
  void free_pinned(Address address) override;
  bool has_virtual_memory() override;
  Address reserve(size_t bytes) override;
  void unreserve(Address address) override;
  runtime::Mapping map(int device, Address address, size_t bytes) override;
  void unmap(Address address, MappingHandle memory) override;
  runtime::MemoryMarks memory_marks() override;

  void copy(Address to, Address from, size_t bytes, runtime::CopyKind kind) override;
  void copy_async(Address to, Address from, size_t bytes, runtime::CopyKind kind,
                  StreamHandle stream) override;
  bool can_access_peer(int device, int peer) override;
  void enable_peer_access(int peer) override;

  bool has_graphs() override;
  void begin_capture(StreamHandle stream, runtime::CaptureMode mode) override;
  runtime::GraphHandle end_capture(StreamHandle stream) override;
  runtime::CaptureState capture_state(StreamHandle stream) override;
  void replay_graph(runtime::GraphHandle graph, StreamHandle stream) override;
  void destroy_graph(runtime::GraphHandle graph) override;
  void describe_graph(runtime::GraphHandle graph, const std::string& path) override;

  // Loads the libraries, or throws an error that says how; where they are is Python's to decide.
  void (*load)() = nullptr;

 private:
  std::mutex mutex_;
  std::array<void*, kMaxDevices> contexts_{};
};

NpuDriver& driver();

class NpuAccelerator final : public devices::StreamAccelerator {
 public:
  NpuAccelerator() : StreamAccelerator(kSlot, npu::driver()) {}

  const char* title() const override { return "NPU"; }
  const char* conf_variable() const override { return "MINDTORCH_NPU_ALLOC_CONF"; }
  const char* malloc_name() const override { return "npumalloc"; }
  DeviceProperties properties(int device) override;
  void copy_on_device(const Tensor& from, const Tensor& to) override;
  bool fill(const Tensor& to, const Scalar& value) override;
  bool takes_lists(DType dtype) const override;
};

NpuAccelerator& npu();

// What every launch does first.
inline void activate(int device) {
  if (thread_state().current[int(kSlot)].active != device) [[unlikely]]
    npu().activate(device);
}
inline void* current_stream(int device) { return mt::current_stream({kSlot, int8_t(device)}); }

// ACL_LAUNCH_BLOCKING or ASCEND_LAUNCH_BLOCKING is set now; what counts is whether it was when the device started.
bool launch_blocking_asked();

void register_npu_backend();

}  // namespace mt::npu
