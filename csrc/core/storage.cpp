#include "core/storage.h"

#include <cstring>
#include <new>

#include "base/error.h"
#include "core/accelerator.h"
#include "core/host_memory.h"
#include "core/meta_memory.h"
#include "core/observe.h"
#include "core/shared_memory.h"
#include "core/storage_keeping.h"
#include "core/thread_state.h"

namespace mt {

std::atomic<void (*)(Storage*)> g_release_kept_object{nullptr};

namespace {

constexpr size_t kHeaderBytes = (sizeof(Storage) + kHostAlignment - 1) / kHostAlignment * kHostAlignment;

Storage* new_header(Device device, size_t nbytes, size_t block) {
  auto* storage = new (host_allocate(block)) Storage;
  storage->header = uint32_t(block);
  storage->device = device;
  storage->guards = thread_state().inference ? kMadeInInference : 0;
  storage->nbytes = nbytes;
  return storage;
}

void release_host(Storage& storage) { host_free(storage.data, size_t(storage.context)); }

void allocate_host(Storage& storage, size_t nbytes) {
  storage.data = host_allocate(nbytes);
  storage.context = reinterpret_cast<void*>(nbytes);
  storage.release = release_host;
}

// For the profiler: memory that came from host_allocate, behind the header or in a block of its own.
[[gnu::noinline, gnu::cold]] void tell(Observer& observer, const Storage& storage, bool handed_out) {
  const bool behind = storage.data == reinterpret_cast<const char*>(&storage) + kHeaderBytes;
  if (!storage.device.is_cpu() || storage.nbytes == 0 || (storage.release != release_host && !behind)) return;
  const auto bytes = int64_t(storage.nbytes);
  observer.host_memory_changed(storage.data, handed_out ? bytes : -bytes);
}

}  // namespace

[[gnu::hot]] void Storage::destroy(Storage* storage) {
  if (Observer* watching = observer()) [[unlikely]]
    tell(*watching, *storage, false);
  // Whoever let an object be kept did so before the last reference could come to this thread.
  if (auto* release_object = g_release_kept_object.load(std::memory_order_relaxed)) [[unlikely]]
    release_object(storage);
  if (storage->release) storage->release(*storage);
  delete storage->object;
  const size_t block = storage->header;
  storage->~Storage();
  host_free(storage, block);
}

[[gnu::hot]] StorageRef new_storage(Device device, size_t nbytes) {
  if (device.type == DeviceType::cpu) {
    // Header and data in one block while that is small: one allocation, one cache line apart.
    const bool together = nbytes <= 2048;
    auto storage = StorageRef::adopt(new_header(device, nbytes, kHeaderBytes + (together ? nbytes : 0)));
    if (together) [[likely]]
      storage->data = reinterpret_cast<char*>(storage.get()) + kHeaderBytes;
    else allocate_host(*storage, nbytes);
    if (Observer* watching = observer()) [[unlikely]]
      tell(*watching, *storage, true);
    return storage;
  }
  auto storage = StorageRef::adopt(new_header(device, nbytes, kHeaderBytes));
  if (nbytes == 0) return storage;
  if (device.type == DeviceType::meta) count_meta_storage(*storage);
  else accelerator(device.type).allocate(*storage, nbytes);
  return storage;
}

StorageRef wrap_storage(Device device, void* data, size_t nbytes, void (*release)(Storage&), void* context) {
  Storage* storage = new_header(device, nbytes, kHeaderBytes);
  storage->data = data;
  storage->release = release;
  storage->context = context;
  storage->resizable = release != nullptr;
  return StorageRef::adopt(storage);
}

void resize_storage(Storage& storage, size_t nbytes) {
  MT_CHECK(storage.resizable, "Trying to resize storage that is not resizable");
  if (storage.device.is_meta()) {
    if (storage.release) storage.release(storage);
    storage.nbytes = nbytes;
    if (nbytes) count_meta_storage(storage);
    return;
  }
  StorageRef grown = new_storage(storage.device, nbytes);
  const size_t common = std::min(nbytes, storage.nbytes);
  // The new data must not be inline in the temporary header: its life ends here.
  if (storage.device.is_cpu()) {
    if (!grown->release && nbytes) allocate_host(*grown, nbytes);
    if (common) std::memcpy(grown->data, storage.data, common);
  } else if (common) {
    accelerator(storage.device.type).copy_within(*grown, storage, common);
  }
  if (Observer* watching = observer()) [[unlikely]]
    tell(*watching, storage, false);
  if (storage.release) storage.release(storage);
  storage.data = std::exchange(grown->data, nullptr);
  storage.release = std::exchange(grown->release, nullptr);
  storage.context = grown->context;
  storage.nbytes = std::exchange(grown->nbytes, 0);
  storage.pinned = storage.shared = false;
  storage.guards &= uint8_t(~kCopyOnWrite);
}

}  // namespace mt
