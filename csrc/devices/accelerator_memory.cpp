// The memory of a StreamAccelerator: storage from its pools, and the pools themselves.
#include "base/error.h"
#include "core/copy_on_write.h"
#include "devices/driver_upstream.h"
#include "devices/stream_accelerator.h"

namespace mt::devices {
namespace {

void release_block(Storage& storage) {
  stream_accelerator(storage.device.type)
      ->allocator(storage.device.index)
      .free(static_cast<runtime::Block*>(storage.context));
}

void release_pinned(Storage& storage) {
  try {
    static_cast<PinnedPool*>(storage.context)->free(Address(storage.data));
  } catch (const Error&) {
    // The device cannot say whether it still reads the memory: the pool never uses it again. A tensor may die
    // during another exception, so this one has nowhere to go; the next call to the device reports the cause.
  }
}

}  // namespace

void StreamAccelerator::allocate(Storage& storage, size_t nbytes) {
  const Device device = storage.device;
  runtime::Block* block = allocator(device.index).allocate(nbytes, StreamHandle(current_stream(device)));
  storage.data = block->address();
  storage.context = block;
  storage.release = release_block;
}

void StreamAccelerator::record_stream(Storage& storage, void* stream) {
  const Storage& memory = memory_of(storage);
  if (memory.release != release_block) return;  // empty, or memory that someone else owns and keeps
  allocator(storage.device.index)
      .record_stream(static_cast<runtime::Block*>(memory.context),
                     StreamHandle(or_default(storage.device.index, stream)));
}

StorageRef StreamAccelerator::new_pinned_storage(size_t nbytes) {
  initialize();
  PinnedPool& pool = pinned_pool();
  const Address address = pool.allocate(nbytes);
  StorageRef storage =
      wrap_storage({DeviceType::cpu}, reinterpret_cast<void*>(address), nbytes, release_pinned, &pool);
  storage->pinned = true;
  storage->resizable = false;
  return storage;
}

int64_t StreamAccelerator::allocated_bytes(int device) noexcept {
  if (device < 0 || device >= kMaxDevices) return kUnknown;
  CachingAllocator* found = find_allocator(device);
  return found ? found->stats().allocated_bytes.all.current : kUnknown;
}

void StreamAccelerator::watch_memory(int device, MemoryWatcher watcher) {
  if (!watcher) {
    if (CachingAllocator* found = find_allocator(device)) found->set_memory_observer({});
    return;
  }
  allocator(device).set_memory_observer([watcher = std::move(watcher)](const runtime::MemoryEvent& event) {
    watcher({uint64_t(event.address), event.bytes, event.total_allocated, event.total_reserved});
  });
}

void StreamAccelerator::set_allocator(int device, std::shared_ptr<CachingAllocator> allocator) {
  MT_CHECK_AS(value, device >= 0 && device < kMaxDevices, "Device index ", device, " of ", name_of(slot_),
              " is outside 0 … ", kMaxDevices - 1, ".");
  std::lock_guard guard(mutex_);
  allocators_[size_t(device)].store(allocator.get(), std::memory_order_release);
  kept_.push_back(std::move(allocator));
}

void StreamAccelerator::set_pinned_pool(std::shared_ptr<PinnedPool> pool) {
  std::lock_guard guard(mutex_);
  pinned_.store(pool.get(), std::memory_order_release);
  kept_.push_back(std::move(pool));
}

void StreamAccelerator::set_pool_makers(PoolMakers makers) {
  std::lock_guard guard(mutex_);
  makers_ = std::move(makers);
}

std::shared_ptr<Upstream> StreamAccelerator::new_upstream(int device) {
  return std::make_shared<DriverUpstream>(*this, device);
}

std::shared_ptr<Upstream> StreamAccelerator::new_pinned_upstream() {
  return std::make_shared<PinnedUpstream>(*this);
}

CachingAllocator& StreamAccelerator::make_allocator(int device) {
  MT_CHECK_AS(value, device >= 0 && device < kMaxDevices, "Device index ", device, " of ", name_of(slot_),
              " is outside 0 … ", kMaxDevices - 1, ".");
  static auto* making = new std::mutex;  // not held while a maker runs: it may wait for Python's lock
  std::function<void(int)> maker;
  {
    std::lock_guard guard(mutex_);
    maker = makers_.allocator;
  }
  if (maker) {
    maker(device);
  } else {
    std::lock_guard guard(*making);
    if (!find_allocator(device))
      set_allocator(device, std::make_shared<CachingAllocator>(new_upstream(device), identity(device)));
  }
  return *find_allocator(device);
}

PinnedPool& StreamAccelerator::make_pinned_pool() {
  static auto* making = new std::mutex;
  std::function<void()> maker;
  {
    std::lock_guard guard(mutex_);
    maker = makers_.pinned_pool;
  }
  if (maker) {
    maker();
  } else {
    std::lock_guard guard(*making);
    if (!pinned_.load()) set_pinned_pool(std::make_shared<PinnedPool>(new_pinned_upstream()));
  }
  return *pinned_.load();
}

}  // namespace mt::devices
