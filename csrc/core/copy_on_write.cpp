#include "core/copy_on_write.h"

#include <cstring>

#include "core/accelerator.h"

namespace mt {
namespace {

void leave(Storage& storage);

bool has_owner(const Storage& storage) { return storage.release == leave; }
Storage* owner_of(const Storage& storage) { return static_cast<Storage*>(storage.context); }
// The storage behind whose header the owner's bytes lie; null if they are a block of their own.
Storage* home_of(const Storage& owner) {
  return owner.release ? nullptr : static_cast<Storage*>(owner.context);
}

void leave(Storage& storage) {
  Storage* owner = owner_of(storage);
  Storage* home = home_of(*owner);
  StorageRef::release(owner);
  if (home && home != &storage) StorageRef::release(home);
}

uint32_t holders(const Storage& storage) { return storage.refs.load(std::memory_order_acquire); }

// Whether nobody else reads the bytes: no other storage holds them, or only their home, which only this one keeps.
bool is_alone(const Storage& storage, const Storage& owner) {
  if (holders(owner) == 1) return true;
  const Storage* home = home_of(owner);
  const bool home_holds = home && home != &storage && has_owner(*home) && owner_of(*home) == &owner;
  return home_holds && holders(owner) == 2 && holders(*home) == 1;
}

StorageRef copied(Storage& storage) {
  StorageRef made = new_storage(storage.device, storage.nbytes);
  if (storage.device.is_cpu()) std::memcpy(made->data, storage.data, storage.nbytes);
  else accelerator(storage.device.type).copy_within(*made, storage, storage.nbytes);
  return made;
}

void give_to_owner(Storage& storage) {
  void* context = storage.release ? storage.context : &storage;
  StorageRef owner = wrap_storage(storage.device, storage.data, storage.nbytes, storage.release, context);
  storage.release = leave;
  storage.context = owner.detach();
}

}  // namespace

StorageRef lazy_clone(Storage& storage) {
  if (storage.device.is_meta() || storage.nbytes == 0) return new_storage(storage.device, storage.nbytes);
  if (!storage.resizable || storage.shared || storage.pinned || storage.object) return copied(storage);
  if (!has_owner(storage)) give_to_owner(storage);
  Storage* owner = owner_of(storage);
  StorageRef::retain(owner);
  StorageRef::retain(home_of(*owner));
  StorageRef made = wrap_storage(storage.device, storage.data, storage.nbytes, leave, owner);
  storage.guards |= kCopyOnWrite;
  made->guards |= kCopyOnWrite;
  return made;
}

void materialize(Storage& storage) {
  Storage* owner = owner_of(storage);
  if (!is_alone(storage, *owner)) return resize_storage(storage, storage.nbytes);
  storage.guards &= uint8_t(~kCopyOnWrite);
  if (home_of(*owner) == &storage) {  // it has its own bytes back
    storage.release = nullptr;
    storage.context = nullptr;
    StorageRef::release(owner);
  }
}

Storage& memory_of(Storage& storage) { return has_owner(storage) ? *owner_of(storage) : storage; }

}  // namespace mt
