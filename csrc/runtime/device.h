// The device seam: everything the framework asks of an accelerator, and nothing a vendor invented.
// ACL, CUDA and the test double implement it; the rest of the code only sees this header.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/upstream.h"

namespace mt::runtime {

// A stream is a value: copying it copies a name, not a queue. `handle` is what the vendor's functions take
// and what Python sees as an integer; handle 0 is the device's default stream.
struct Stream {
  int device = 0;
  int64_t id = 0;  // unique in the process, also after the handle has been reused
  StreamHandle handle = 0;

  friend bool operator==(const Stream& a, const Stream& b) { return a.device == b.device && a.id == b.id; }
};

enum class CopyKind { host_to_device, device_to_host, device_to_device, host_to_host };

struct EventOptions {
  bool timing = false;        // elapsed_time() will be asked
  bool cross_stream = true;   // a stream will wait on it
  bool interprocess = false;  // another process will
};

// Functions throw mt::Error (with the vendor function, its code and its message) when the device refuses.
// Functions that take a Stream act on the stream's device; the others on the device they are given.
class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  virtual const char* name() const = 0;  // "npu", "cuda": as in torch.device

  // Devices. The current device belongs to the calling thread.
  virtual int device_count() = 0;
  virtual int current_device() = 0;
  virtual void set_device(int device) = 0;
  virtual void synchronize_device(int device) = 0;
  virtual MemoryInfo memory_info(int device) = 0;

  // Streams.
  virtual Stream default_stream(int device) = 0;
  virtual Stream create_stream(int device, int priority) = 0;
  virtual void destroy_stream(const Stream& stream) = 0;
  virtual void synchronize_stream(const Stream& stream) = 0;
  virtual bool stream_is_idle(const Stream& stream) = 0;

  // Events. Recording one again makes a new version of it: waits already enqueued keep the old version.
  virtual EventHandle create_event(int device, EventOptions options) = 0;
  virtual void destroy_event(EventHandle event) = 0;
  virtual void record_event(EventHandle event, const Stream& stream) = 0;
  virtual bool event_is_complete(EventHandle event) = 0;
  virtual void synchronize_event(EventHandle event) = 0;
  virtual void make_stream_wait(const Stream& stream, EventHandle event) = 0;
  virtual float elapsed_ms(EventHandle begin, EventHandle end) = 0;
  virtual int64_t event_time_us(EventHandle event) = 0;  // on the device's clock

  // Raw memory, below the caching pools. Allocation returns 0 when the device has no room.
  virtual Address allocate(int device, size_t bytes) = 0;
  virtual void free(int device, Address address) = 0;
  virtual Address allocate_pinned(size_t bytes) = 0;
  virtual void free_pinned(Address address) = 0;

  // Copies. The asynchronous ones need pinned host memory to be asynchronous in fact.
  virtual void copy(Address to, Address from, size_t bytes, CopyKind kind) = 0;
  virtual void copy_async(Address to, Address from, size_t bytes, CopyKind kind, const Stream& stream) = 0;
  virtual void fill_async(Address to, uint8_t value, size_t bytes, const Stream& stream) = 0;
};

// Makes a device current for a scope. Nothing is called when it is current already.
class DeviceGuard {
 public:
  DeviceGuard(DeviceRuntime& runtime, int device)
      : runtime_(runtime), previous_(runtime.current_device()), changed_(previous_ != device) {
    if (changed_) runtime_.set_device(device);
  }
  ~DeviceGuard() {
    if (changed_) runtime_.set_device(previous_);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  DeviceRuntime& runtime_;
  int previous_;
  bool changed_;
};

}  // namespace mt::runtime
