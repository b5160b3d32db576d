// The device seam: what everything above a backend asks of a device, and nothing that a vendor invented.
//
// A backend is a folder of csrc/backends that registers one object of these for its slot (Note [Slots] in core/device.h)
// and its kernels by operator. Nothing else in the code knows its name: see docs/adding_a_device.md. Accelerators with
// streams derive from devices::StreamAccelerator, which leaves the vendor's part alone open.
#pragma once

#include <functional>
#include <string>

#include "base/device_handles.h"
#include "core/current_stream.h"
#include "core/generator.h"
#include "core/tensor.h"

namespace mt {

// What every device that holds data has, the host's included.
class Backend {
 public:
  virtual ~Backend() = default;
  // Same sizes on both sides, of which at least one is on this device. Types and strides may differ.
  virtual void copy(const Tensor& from, const Tensor& to, bool non_blocking) = 0;
  virtual Generator* default_generator(int device) = 0;  // needs no device: seeding does not start one
  virtual Generator* new_generator(int device) = 0;
  // Whether its kernel of attention takes heads of this dtype that are so wide. `device` may be meta: on the one meant.
  virtual bool fuses_attention(Device, DType, int64_t /*width*/) { return false; }
};

struct DeviceProperties {
  std::string name;  // of the chip
  size_t total_memory = 0;
  int processors = 0;  // what computes at the same time; 0: the driver does not tell
};

struct MemoryChange {
  uint64_t address;  // 0: it could not be had
  int64_t bytes;     // positive: handed out; negative: given back
  int64_t total_allocated;
  int64_t total_reserved;
};
// Called by the thread that allocates or frees.
using MemoryWatcher = std::function<void(const MemoryChange&)>;

inline constexpr int64_t kUnknown = INT64_MIN;  // of memory that cannot be read

// Functions throw mt::Error (DeviceError for what the driver refused) with the vendor's function and message. Streams
// and events are the vendor's handles; a null stream is the default one.
class Accelerator : public Backend {
 public:
  virtual const char* title() const = 0;  // as in "<title> out of memory"

  // Devices. The current one belongs to the thread (core/current_stream.h).
  virtual bool is_available() = 0;  // false, never an error, where there is none
  virtual int device_count() = 0;
  virtual Device resolve(
      Device device) = 0;  // fills in the index, opens lazily, checks the range, notices forks
  virtual void set_device(int device) = 0;
  virtual void synchronize(int device) = 0;  // waits for all streams
  virtual DeviceProperties properties(int device) = 0;

  // Memory.
  virtual void allocate(Storage& storage, size_t nbytes) = 0;  // fills data, release, context
  virtual void copy_within(Storage& to, const Storage& from, size_t nbytes) = 0;
  // When its last tensor is gone, the memory is not reused before the work now on `stream` is done.
  virtual void record_stream(Storage& storage, void* stream) = 0;
  virtual StorageRef new_pinned_storage(size_t nbytes) = 0;  // host memory that copies read asynchronously
  virtual MemoryInfo memory_info(int device) = 0;
  virtual int64_t allocated_bytes(int device) noexcept = 0;  // kUnknown for a device that has not been used
  virtual void watch_memory(int device, MemoryWatcher watcher) = 0;  // one at a time; {} takes it away

  // Streams.
  virtual void* default_stream(int device) = 0;  // opens the device
  virtual void* pooled_stream(int device, int priority) = 0;
  virtual void* new_stream(int device) = 0;  // the caller's own, for as long as the process lives
  virtual int device_of_stream(
      void* stream) = 0;  // a stream made elsewhere is taken for the current device's
  virtual void synchronize_stream(int device, void* stream) = 0;
  virtual bool stream_is_idle(int device, void* stream) = 0;
  // `waiting`, of this device, does nothing more before everything now enqueued on `finished` is done.
  virtual void wait(int device, void* waiting, void* finished) = 0;

  // Events. Recording one again makes a new version of it: waits already enqueued keep the old version.
  virtual EventHandle create_event(int device, EventOptions options) = 0;
  virtual void destroy_event(EventHandle event) = 0;
  virtual void record_event(EventHandle event, int device, void* stream) = 0;
  virtual bool event_is_complete(EventHandle event) = 0;
  virtual void synchronize_event(EventHandle event) = 0;
  virtual void make_stream_wait(int device, void* stream, EventHandle event) = 0;
  virtual float elapsed_ms(EventHandle begin, EventHandle end) = 0;
  virtual int64_t event_time_us(EventHandle event) = 0;  // on the device's clock

  virtual Scalar item(const Tensor& tensor) = 0;  // of one element; waits for it
  virtual void seed_all(uint64_t seed) = 0;       // the default generators, also of devices not used yet
  // Whether one launch may do a whole list of tensors of this type.
  virtual bool takes_lists(DType) const { return false; }
  // What the thread runs in between is one operator for each entry of a list: launches may be kept back until the end,
  // or until something else has to see what they make, and be done at once (OverList).
  virtual void list_begins() {}
  virtual void list_ends() {}

  // Other code is about to work on its memory or streams: what was asked of it so far is with its driver.
  virtual void hand_over(int /*device*/) {}
  // Other code has the handle of a stream, or memory under an address of its own: it may do so at any time from now on.
  virtual void share() {}
};

// Backends live for ever. Registering touches no driver.
void register_backend(DeviceType type, Backend& backend);
void register_accelerator(DeviceType slot, const char* name, Accelerator& accelerator);

Backend& backend(DeviceType type);                        // throws when nothing drives the device
Backend* find_backend(DeviceType type) noexcept;          // null for one that nothing drives
Accelerator& accelerator(DeviceType type);                // likewise
Accelerator* find_accelerator(DeviceType type) noexcept;  // null for a slot that is empty
// For an address that is given to other code.
inline void hand_over(Device device) {
  if (device.is_accelerator())
    if (Accelerator* there = find_accelerator(device.type)) there->hand_over(device.index);
}
// The one that is meant where nothing says which: the first that is there.
DeviceType main_accelerator();

}  // namespace mt
