// A device made of the host: its memory is the host's, with a limit, and its streams are threads.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>

#include "runtime/driver.h"

namespace mt::private_device {

inline constexpr int kDevices = 2;
inline constexpr size_t kCapacity = size_t(64) << 20;  // bytes of each device

class HostDriver final : public runtime::DeviceDriver {
 public:
  const runtime::DriverCalls& calls() const override;
  // Runs on the stream's thread, after everything enqueued before. What it throws is thrown by the next wait.
  void enqueue(StreamHandle stream, std::function<void()> work);

  int initialize() override { return kDevices; }
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

  runtime::RawMemory allocate(size_t bytes) override;
  void free(Address address) override;
  runtime::RawMemory allocate_pinned(size_t bytes) override;
  void free_pinned(Address address) override;

  void copy(Address to, Address from, size_t bytes, runtime::CopyKind kind) override;
  void copy_async(Address to, Address from, size_t bytes, runtime::CopyKind kind,
                  StreamHandle stream) override;
  bool can_access_peer(int, int) override { return true; }
  void enable_peer_access(int) override {}

 private:
  struct Memory {
    int device;
    size_t bytes;
  };
  std::mutex mutex_;
  std::map<Address, Memory> memory_;
  std::array<size_t, kDevices> used_{};
  std::array<std::vector<StreamHandle>, kDevices> streams_;
};

HostDriver& driver();

}  // namespace mt::private_device
