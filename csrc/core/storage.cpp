#include "core/storage.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "base/error.h"
#include "core/host_memory.h"
#include "core/observe.h"
#include "core/thread_state.h"

namespace mt {
namespace {

constexpr size_t kHeaderBytes = (sizeof(Storage) + kHostAlignment - 1) / kHostAlignment * kHostAlignment;

StorageFactory g_factories[kDeviceTypes];

Storage* new_header(Device device, size_t nbytes, size_t block) {
  auto* storage = new (host_allocate(block)) Storage;
  storage->header = uint32_t(block);
  storage->device = device;
  storage->inference = thread_state().inference;
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

void release_mapping(Storage& storage) { munmap(storage.data, storage.nbytes); }

[[noreturn]] void fail_system(const std::string& what, const std::string& path) {
  fail(ErrorKind::runtime, what, " <", path, ">: ", std::strerror(errno), " (", errno, ")");
}

struct FileDescriptor {
  int value;
  ~FileDescriptor() {
    if (value >= 0) close(value);
  }
};

}  // namespace

void Storage::destroy(Storage* storage) {
  if (Observer* watching = observer()) [[unlikely]]
    tell(*watching, *storage, false);
  if (storage->release) storage->release(*storage);
  delete storage->filename;
  const size_t block = storage->header;
  storage->~Storage();
  host_free(storage, block);
}

StorageRef new_storage(Device device, size_t nbytes) {
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
  if (device.type == DeviceType::meta || nbytes == 0) return storage;
  const StorageFactory& factory = g_factories[int(device.type)];
  MT_CHECK(factory.allocate, "no backend is loaded for device ", to_string(device));
  factory.allocate(*storage, nbytes);
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
    storage.nbytes = nbytes;
    return;
  }
  StorageRef grown = new_storage(storage.device, nbytes);
  const size_t common = std::min(nbytes, storage.nbytes);
  // The new data must not be inline in the temporary header: its life ends here.
  if (storage.device.is_cpu()) {
    if (!grown->release && nbytes) allocate_host(*grown, nbytes);
    if (common) std::memcpy(grown->data, storage.data, common);
  } else if (common) {
    g_factories[int(storage.device.type)].copy_within(*grown, storage, common);
  }
  std::swap(storage.data, grown->data);
  std::swap(storage.release, grown->release);
  std::swap(storage.context, grown->context);
  std::swap(storage.nbytes, grown->nbytes);
  storage.pinned = storage.shared = false;
}

StorageRef map_file(const std::string& path, bool shared, int64_t nbytes) {
  FileDescriptor file{open(path.c_str(), shared ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0600)};
  if (file.value < 0) fail_system("unable to open file", path);
  struct stat status;
  if (fstat(file.value, &status) != 0) fail_system("unable to stat the file", path);
  const int64_t size = nbytes > 0 ? nbytes : status.st_size;
  if (size > status.st_size) {
    MT_CHECK(shared, "unable to map file <", path, ">: it has ", int64_t(status.st_size), " bytes, ", size,
             " were asked for; a private mapping cannot grow the file");
    if (ftruncate(file.value, size) != 0) fail_system("unable to stretch file", path);
  }
  void* data = nullptr;
  if (size > 0) {
    data =
        mmap(nullptr, size_t(size), PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE, file.value, 0);
    if (data == MAP_FAILED) fail_system("unable to mmap " + std::to_string(size) + " bytes from file", path);
  }
  auto storage =
      wrap_storage({DeviceType::cpu}, data, size_t(size), size > 0 ? release_mapping : nullptr, nullptr);
  storage->resizable = false;
  storage->shared = shared;
  storage->filename = new std::string(path);
  return storage;
}

void move_to_shared_memory(Storage& storage) {
  if (storage.shared) return;
  MT_CHECK(storage.device.is_cpu(), "share_memory_: only CPU storage can move to shared memory, got ",
           to_string(storage.device));
  static std::atomic<uint64_t> counter{0};
  const std::string name =
      "/mindtorch_" + std::to_string(getpid()) + "_" + std::to_string(counter.fetch_add(1));
  FileDescriptor file{shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600)};
  if (file.value < 0) fail_system("unable to open shared memory object", name);
  const size_t size = std::max<size_t>(storage.nbytes, 1);
  void* data = MAP_FAILED;
  if (ftruncate(file.value, off_t(size)) == 0)
    data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.value, 0);
  if (data == MAP_FAILED) {
    const int error = errno;
    shm_unlink(name.c_str());
    errno = error;
    fail_system("unable to map shared memory object", name);
  }
  if (storage.nbytes) std::memcpy(data, storage.data, storage.nbytes);
  if (storage.release) storage.release(storage);
  storage.data = data;
  storage.context = reinterpret_cast<void*>(intptr_t(getpid()));
  storage.shared = true;
  storage.resizable = false;
  storage.filename = new std::string(name);
  // The name lives as long as the storage in the process that made it; others keep their mapping.
  storage.release = [](Storage& self) {
    munmap(self.data, std::max<size_t>(self.nbytes, 1));
    if (intptr_t(self.context) == getpid()) shm_unlink(self.filename->c_str());
  };
}

void register_storage_factory(DeviceType type, StorageFactory factory) { g_factories[int(type)] = factory; }

}  // namespace mt
