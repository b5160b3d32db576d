// The CUDA driver as a driver of this project, and GPUs as accelerators over it.
#pragma once

#include <array>
#include <mutex>
#include <unordered_map>

#include "backends/cuda/cuda_api.h"
#include "core/current_stream.h"
#include "devices/stream_accelerator.h"

namespace mt::cuda {

inline constexpr DeviceType kSlot = DeviceType::second_accelerator;

class CudaDriver final : public runtime::DeviceDriver {
 public:
  const runtime::DriverCalls& calls() const override;

  int initialize() override;
  StreamHandle open(int device) override;
  void activate(int device) override;

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
  bool has_virtual_memory() override { return true; }
  Address reserve(size_t bytes) override;
  void unreserve(Address address) override;
  runtime::Mapping map(int device, Address address, size_t bytes) override;
  void unmap(Address address, MappingHandle memory) override;

  void copy(Address to, Address from, size_t bytes, runtime::CopyKind kind) override;
  void copy_async(Address to, Address from, size_t bytes, runtime::CopyKind kind,
                  StreamHandle stream) override;
  bool can_access_peer(int device, int peer) override;
  void enable_peer_access(int peer) override;

  bool has_graphs() override { return true; }
  void begin_capture(StreamHandle stream, runtime::CaptureMode mode) override;
  runtime::GraphHandle end_capture(StreamHandle stream) override;
  runtime::CaptureState capture_state(StreamHandle stream) override;
  void replay_graph(runtime::GraphHandle graph, StreamHandle stream) override;
  void destroy_graph(runtime::GraphHandle graph) override;
  void describe_graph(runtime::GraphHandle graph, const std::string& path) override;

  // Of a device that is there; needs no context.
  int attribute(int device, DeviceAttribute which);
  std::string name(int device);
  std::string uuid(int device);
  size_t total_memory(int device);

 private:
  size_t take_bytes(std::unordered_map<Address, size_t>& from, Address address, const char* what);

  std::mutex mutex_;
  std::array<Context, kMaxDevices> contexts_{};
  std::array<Event, kMaxDevices> starts_{};  // recorded when a device was opened: the zero of its clock
  std::unordered_map<Address, size_t> reserved_, mapped_;  // CUDA wants to hear their sizes again
};

CudaDriver& driver();

class CudaAccelerator final : public devices::StreamAccelerator {
 public:
  CudaAccelerator() : StreamAccelerator(kSlot, cuda::driver()) {}

  const char* title() const override { return "CUDA"; }
  const char* conf_variable() const override { return "PYTORCH_CUDA_ALLOC_CONF"; }
  const char* malloc_name() const override { return "cudamalloc"; }
  DeviceProperties properties(int device) override;
  void copy_on_device(const Tensor& from, const Tensor& to) override;
  bool fill(const Tensor& to, const Scalar& value) override;
  bool fuses_attention(Device device, DType dtype, int64_t width) override;  // attention.cpp
  void list_begins() override;
  void list_ends() override;
  void hand_over(int device) override;
  void share() override;
};

CudaAccelerator& gpu();

void register_cuda_backend();  // kernels and accelerator; starts nothing

}  // namespace mt::cuda
