// An accelerator with streams, over any driver. What is written here once is what no vendor decides: lazy opening, the
// current device and stream, the memory pools, the order of copies and events, waiting. A backend derives from it and
// adds its copies inside the device, and its kernels.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/accelerator.h"
#include "devices/counter_generator.h"
#include "runtime/caching_allocator.h"
#include "runtime/driver.h"
#include "runtime/event_pool.h"
#include "runtime/pinned_pool.h"
#include "runtime/stream_pool.h"

namespace mt::devices {

using runtime::AllocatorIdentity;
using runtime::CachingAllocator;
using runtime::CopyKind;
using runtime::DeviceDriver;
using runtime::PinnedPool;
using runtime::Upstream;

class DeviceGraph;

// What a wait of the host inside an operator does besides (set_sync_debug_mode).
enum class SyncDebugMode { off, warn, error };

class StreamAccelerator : public Accelerator {
 public:
  StreamAccelerator(DeviceType slot, DeviceDriver& driver) : slot_(slot), driver_(driver) {}

  DeviceDriver& driver() { return driver_; }
  DeviceType slot() const { return slot_; }

  // Starts the driver; throws when there is no device. Called again it costs one load.
  void initialize();
  bool is_initialized() const { return initialized_.load(std::memory_order_acquire); }
  bool is_in_bad_fork() const { return forked_; }  // this process is a fork of one that used the device
  // Makes the device ready. Throws for an index that does not exist.
  void open(int device);
  bool is_open(int device) const {
    return device >= 0 && device < kMaxDevices && opened_default_stream({slot_, int8_t(device)});
  }
  // Makes the device current for the vendor's library on this thread.
  void activate(int device) {
    if (thread_state().current[int(slot_)].active != device) [[unlikely]]
      activate_slowly(device);
  }
  // For code that changed the device of this thread behind our back.
  void forget_active_device() { thread_state().current[int(slot_)].active = -1; }
  int active_device() const { return thread_state().current[int(slot_)].active; }
  int current_device() const { return thread_state().current[int(slot_)].index; }

  // ---- Accelerator ----
  bool is_available() override;
  int device_count() override;
  Device resolve(Device device) override;
  void set_device(int device) override;
  void synchronize(int device) override;

  void allocate(Storage& storage, size_t nbytes) override;
  void copy_within(Storage& to, const Storage& from, size_t nbytes) override;
  void record_stream(Storage& storage, void* stream) override;
  StorageRef new_pinned_storage(size_t nbytes) override;
  MemoryInfo memory_info(int device) override;
  int64_t allocated_bytes(int device) noexcept override;
  void watch_memory(int device, MemoryWatcher watcher) override;

  void* default_stream(int device) override;
  void* pooled_stream(int device, int priority) override;
  void* new_stream(int device) override;
  int device_of_stream(void* stream) override;
  void synchronize_stream(int device, void* stream) override;
  bool stream_is_idle(int device, void* stream) override;
  void wait(int device, void* waiting, void* finished) override;

  EventHandle create_event(int device, EventOptions options) override;
  void destroy_event(EventHandle event) override;
  void record_event(EventHandle event, int device, void* stream) override;
  bool event_is_complete(EventHandle event) override;
  int device_of_event(EventHandle event) { return events_.kind_of(event).device; }
  void synchronize_event(EventHandle event) override;
  void make_stream_wait(int device, void* stream, EventHandle event) override;
  float elapsed_ms(EventHandle begin, EventHandle end) override;
  int64_t event_time_us(EventHandle event) override;
  std::string export_event(EventHandle event);
  EventHandle import_event(int device, const std::string& bytes);

  // ---- Graphs (devices/device_graph.h) ----
  bool stream_is_capturing(int device, void* stream);
  // The graph that records what is enqueued on the stream; null: it runs. One load while nothing is captured.
  DeviceGraph* capture_of(int device, void* stream) {
    return capture_count_.load(std::memory_order_acquire) ? find_capture(device, stream) : nullptr;
  }
  DeviceGraph* current_capture(int device) {
    if (capture_count_.load(std::memory_order_acquire) == 0 || !is_open(device)) [[likely]]
      return nullptr;
    return find_capture(device, current_stream({slot_, int8_t(device)}));
  }
  void add_capture(DeviceGraph& graph);
  void remove_capture(DeviceGraph& graph);

  void copy(const Tensor& from, const Tensor& to, bool non_blocking) override;
  Scalar item(const Tensor& tensor) override;
  Generator* default_generator(int device) override { return &generators_.at(device); }
  Generator* new_generator(int device) override;
  void seed_all(uint64_t seed) override { generators_.seed_all(seed); }

  // ---- What a backend adds ----
  // Inside one device, on its current stream; types and strides may differ.
  virtual void copy_on_device(const Tensor& from, const Tensor& to) = 0;
  // Writes one value everywhere without a copy from the host; false: it cannot, for this type.
  virtual bool fill(const Tensor&, const Scalar&) { return false; }
  virtual const char* conf_variable() const = 0;  // with the allocator's settings, for messages
  virtual const char* malloc_name() const = 0;    // as in the setting throw_on_<name>_oom

  // ---- Memory pools ----
  // One load once an allocator exists, so it may be called for every tensor; the first call makes it.
  CachingAllocator& allocator(int device) {
    if (device >= 0 && device < kMaxDevices) [[likely]]
      if (CachingAllocator* found = allocators_[size_t(device)].load(std::memory_order_acquire)) [[likely]]
        return *found;
    return make_allocator(device);
  }
  CachingAllocator* find_allocator(int device) noexcept {
    return allocators_[size_t(device)].load(std::memory_order_acquire);
  }
  PinnedPool& pinned_pool() {
    PinnedPool* found = pinned_.load(std::memory_order_acquire);
    return found ? *found : make_pinned_pool();
  }
  // Pools are kept for ever: tensors may outlive whoever made them.
  void set_allocator(int device, std::shared_ptr<CachingAllocator> allocator);
  void set_pinned_pool(std::shared_ptr<PinnedPool> pool);
  // Where pools come from at their first use: the makers call set_allocator and set_pinned_pool, so that two threads
  // which arrive together get the same one. Without makers they have no settings.
  struct PoolMakers {
    std::function<void(int device)> allocator;
    std::function<void()> pinned_pool;
  };
  void set_pool_makers(PoolMakers makers);
  std::shared_ptr<Upstream> new_upstream(int device);
  std::shared_ptr<Upstream> new_pinned_upstream();
  AllocatorIdentity identity(int device) const { return {title(), device, conf_variable(), malloc_name()}; }

  // ---- Waiting ----
  // Every launch waits for its end, so that errors appear where they are made.
  bool launch_blocking() const { return launch_blocking_.load(std::memory_order_relaxed); }
  void set_launch_blocking(bool on) { launch_blocking_.store(on, std::memory_order_relaxed); }
  std::atomic<SyncDebugMode> sync_debug_mode{SyncDebugMode::off};
  // Where an operator needs what the stream computes: a wait that gives up Python's lock.
  void wait_for_data(int device, void* stream);
  // A program may replace the wait for a device's default stream; an empty function puts it back.
  void replace_default_wait(int device, std::function<void()> wait);
  void copy_bytes_async(void* to, const void* from, size_t bytes, CopyKind kind, int device, void* stream);
  // The tensor itself if its elements lie in order, else a copy of which that is true, made on the device.
  Tensor contiguous(const Tensor& tensor);

 private:
  friend struct AfterFork;
  void activate_slowly(int device);
  void* or_default(int device, void* stream);
  void wait_across(int waiting_device, void* waiting, int finished_device, void* finished);
  void enable_peers(int a, int b);
  void report_wait();
  DeviceGraph* find_capture(int device, void* stream);
  // Throws, and makes the capture invalid, if the stream is captured.
  void refuse_in_capture(int device, void* stream, const char* what) {
    if (DeviceGraph* graph = capture_of(device, stream)) [[unlikely]]
      refuse(*graph, what);
  }
  [[noreturn]] void refuse(DeviceGraph& graph, const char* what);
  void refuse_in_captures_of(int device);
  void pinned_memory_used(const Storage& storage, int device, void* stream);
  bool wait_was_replaced(int device);
  void copy_bytes(void* to, const void* from, size_t bytes, CopyKind kind, int device, void* stream);
  void upload(const Tensor& from, const Tensor& to, bool non_blocking);
  void upload_dense(const Tensor& from, const Tensor& to);
  bool is_pinned_here(const Tensor& tensor) const {
    const Storage& storage = tensor.storage();
    return storage.pinned && storage.context == pinned_.load(std::memory_order_acquire);
  }
  void upload_pinned(const Tensor& from, const Tensor& to, bool non_blocking);
  void download(const Tensor& from, const Tensor& to, bool non_blocking);
  void copy_between_devices(const Tensor& from, const Tensor& to);
  CachingAllocator& make_allocator(int device);
  PinnedPool& make_pinned_pool();

  const DeviceType slot_;
  DeviceDriver& driver_;
  std::atomic<bool> initialized_{false}, forked_{false};
  std::atomic<int> count_{0};
  std::atomic<bool> launch_blocking_{false};

  std::atomic<int> capture_count_{0};
  std::mutex capture_mutex_;
  std::vector<DeviceGraph*> captures_;

  std::mutex mutex_;  // starting, opening, peers, makers, waits
  PoolMakers makers_;
  std::array<std::atomic<CachingAllocator*>, kMaxDevices> allocators_{};
  std::atomic<PinnedPool*> pinned_{nullptr};
  std::vector<std::shared_ptr<void>> kept_;
  std::array<uint64_t, kMaxDevices> peers_{};
  std::array<std::atomic<bool>, kMaxDevices> waits_replaced_{};
  std::array<std::function<void()>, kMaxDevices> replaced_waits_{};

  CounterGenerators generators_{slot_};
  runtime::EventPool events_;
  runtime::StreamPool streams_;
};

// The accelerator in a slot as one with streams; null for an empty slot or another kind.
StreamAccelerator* stream_accelerator(DeviceType type) noexcept;

}  // namespace mt::devices
