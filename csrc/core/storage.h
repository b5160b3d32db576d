// A block of memory on a device, shared by the tensors that view it.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/device.h"
#include "core/refcount.h"

namespace mt {

struct SharedObject;

// Why a write to a storage has to look twice, as bits: nearly always none.
enum Guard : uint8_t {
  kMadeInInference = 1,  // autograd must not see it
  kCopyOnWrite = 2,      // it shares its bytes with another storage: core/copy_on_write.h
};

struct Storage {
  std::atomic<uint32_t> refs{1};
  std::atomic<uint32_t> version{0};  // in-place writes so far: what autograd checks saved tensors against
  void* data = nullptr;
  size_t nbytes = 0;
  Device device;
  bool resizable = true;
  bool shared = false;  // host memory that other processes can map
  uint8_t guards = 0;   // of enum Guard
  bool pinned = false;  // host memory the device can copy from asynchronously
  uint32_t header = 0;  // bytes of the host block that holds this header (and the data, when inline)
  // Returns `data` to whoever gave it. Null when the data is inline, borrowed or absent (meta).
  void (*release)(Storage&) = nullptr;
  void* context = nullptr;         // belongs to `release`: an allocator's block, an owner's object
  SharedObject* object = nullptr;  // what a file-backed or shared memory lies in (core/shared_memory.h)

  bool made_in_inference() const { return guards & kMadeInInference; }
  static void destroy(Storage* storage);
};
using StorageRef = Ref<Storage>;

// New storage of `nbytes` on `device`, contents undefined.
StorageRef new_storage(Device device, size_t nbytes);
// Storage over memory someone else owns; `release` (may be null) is called when the last user is gone.
StorageRef wrap_storage(Device device, void* data, size_t nbytes, void (*release)(Storage&), void* context);
// Grows or shrinks in place, keeping the common prefix of the contents.
void resize_storage(Storage& storage, size_t nbytes);

}  // namespace mt
