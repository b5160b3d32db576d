#include "core/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"
#include "core/copy_on_write.h"

namespace mt {
namespace {

constexpr size_t kCountBytes = 64;  // before the data of a named object, which stays aligned

[[noreturn]] void fail_system(const std::string& what, const std::string& path) {
  fail(ErrorKind::runtime, what, " <", path, ">: ", std::strerror(errno), " (", errno, ")");
}

struct FileDescriptor {
  int value;
  explicit FileDescriptor(int descriptor) : value(descriptor) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (value >= 0) close(value);
  }
  int take() { return std::exchange(value, -1); }
};

std::atomic<int32_t>& count_of(const Storage& storage) {
  return *reinterpret_cast<std::atomic<int32_t>*>(static_cast<char*>(storage.data) - kCountBytes);
}

void release_object(Storage& storage) {
  const SharedObject& object = *storage.object;
  const size_t before = object.counted ? kCountBytes : 0;
  if (object.counted && object.owner == getpid() && count_of(storage).fetch_sub(1) == 1)
    shm_unlink(object.name.c_str());
  munmap(static_cast<char*>(storage.data) - before, storage.nbytes + before);
}

void* map_shared(int descriptor, size_t length, const std::string& what, int more_flags = 0) {
  void* memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | more_flags, descriptor, 0);
  if (memory == MAP_FAILED) fail_system("unable to mmap " + std::to_string(length) + " bytes of", what);
  return memory;
}

// A storage over mapped memory; `object` says what to undo.
StorageRef over(void* memory, size_t nbytes, std::unique_ptr<SharedObject> object) {
  char* data = static_cast<char*>(memory) + (object->counted ? kCountBytes : 0);
  auto storage = wrap_storage({DeviceType::cpu}, data, nbytes, memory ? release_object : nullptr, nullptr);
  storage->resizable = false;
  storage->shared = true;
  object->owner = getpid();
  storage->object = object.release();
  return storage;
}

StorageRef new_anonymous(size_t nbytes) {
  FileDescriptor file{memfd_create("mindtorch", MFD_CLOEXEC)};
  if (file.value < 0) fail_system("unable to make shared memory", "memfd");
  auto object = std::make_unique<SharedObject>();
  if (nbytes == 0) {
    object->descriptor = file.take();
    return over(nullptr, 0, std::move(object));
  }
  if (ftruncate(file.value, off_t(nbytes)) != 0) fail_system("unable to resize shared memory", "memfd");
  // New memory is written at once, so its pages come in one call instead of one fault each.
  void* memory = map_shared(file.value, nbytes, "shared memory", MAP_POPULATE);
  object->descriptor = file.take();
  return over(memory, nbytes, std::move(object));
}

StorageRef new_named(size_t nbytes) {
  static std::atomic<uint64_t> counter{0};
  auto object = std::make_unique<SharedObject>();
  object->name = "/mindtorch_" + std::to_string(getpid()) + "_" + std::to_string(counter.fetch_add(1));
  object->counted = true;
  FileDescriptor file{shm_open(object->name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600)};
  if (file.value < 0) fail_system("unable to open shared memory object", object->name);
  const size_t length = nbytes + kCountBytes;
  void* memory = MAP_FAILED;
  if (ftruncate(file.value, off_t(length)) == 0)
    memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.value, 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    shm_unlink(object->name.c_str());
    errno = error;
    fail_system("unable to map shared memory object", object->name);
  }
  auto storage = over(memory, nbytes, std::move(object));
  count_of(*storage).store(1);
  return storage;
}

size_t length_of(int descriptor, const std::string& what) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) fail_system("unable to stat", what);
  return size_t(status.st_size);
}

}  // namespace

SharedObject::~SharedObject() {
  if (descriptor >= 0) close(descriptor);
}

StorageRef map_file(const std::string& path, bool shared, int64_t nbytes) {
  FileDescriptor file{open(path.c_str(), shared ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0600)};
  if (file.value < 0) fail_system("unable to open file", path);
  const int64_t there = int64_t(length_of(file.value, path));
  const int64_t size = nbytes > 0 ? nbytes : there;
  if (size > there) {
    MT_CHECK(shared, "unable to map file <", path, ">: it has ", there, " bytes, ", size,
             " were asked for; a private mapping cannot grow the file");
    if (ftruncate(file.value, size) != 0) fail_system("unable to stretch file", path);
  }
  void* data = nullptr;
  if (size > 0) {
    data =
        mmap(nullptr, size_t(size), PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE, file.value, 0);
    if (data == MAP_FAILED) fail_system("unable to mmap " + std::to_string(size) + " bytes from file", path);
  }
  auto object = std::make_unique<SharedObject>();
  object->name = path;
  auto storage = over(data, size_t(size), std::move(object));
  storage->shared = shared;
  return storage;
}

StorageRef new_shared_storage(size_t nbytes, bool named) {
  return named ? new_named(nbytes) : new_anonymous(nbytes);
}

void move_to_shared_memory(Storage& storage, bool named) {
  if (storage.shared) return;
  MT_CHECK(storage.device.is_cpu(), "share_memory_: only CPU storage can move to shared memory, got ",
           to_string(storage.device));
  before_write(storage);
  StorageRef made = new_shared_storage(storage.nbytes, named);
  if (storage.nbytes) std::memcpy(made->data, storage.data, storage.nbytes);
  std::swap(storage.data, made->data);
  std::swap(storage.release, made->release);
  std::swap(storage.context, made->context);
  std::swap(storage.object, made->object);
  storage.shared = true;
  storage.pinned = storage.resizable = false;
}

StorageRef map_descriptor(int descriptor, size_t nbytes) {
  FileDescriptor file{descriptor};
  const size_t there = length_of(file.value, "shared memory");
  MT_CHECK(there >= nbytes, "shared memory of another process has ", there, " bytes, expected ", nbytes);
  void* memory = nbytes ? map_shared(file.value, nbytes, "shared memory") : nullptr;
  auto object = std::make_unique<SharedObject>();
  object->descriptor = file.take();
  return over(memory, nbytes, std::move(object));
}

StorageRef map_shared_name(const std::string& name, size_t nbytes) {
  FileDescriptor file{shm_open(name.c_str(), O_RDWR, 0)};
  if (file.value < 0) fail_system("unable to open shared memory object", name);
  const size_t there = length_of(file.value, name);
  MT_CHECK(there >= kCountBytes && there - kCountBytes >= nbytes, "shared memory object <", name, "> has ",
           there, " bytes, expected ", nbytes, " after a count of ", kCountBytes);
  void* memory = map_shared(file.value, nbytes + kCountBytes, name);
  auto object = std::make_unique<SharedObject>();
  object->name = name;
  object->counted = true;
  auto storage = over(memory, nbytes, std::move(object));
  count_of(*storage).fetch_add(1);
  return storage;
}

void count_shared_name(const Storage& storage, int change) {
  MT_CHECK(storage.object && storage.object->counted, "this storage is not a named shared memory object");
  count_of(storage).fetch_add(change);
}

}  // namespace mt
