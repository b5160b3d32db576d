// Storages that share bytes until one of them is written.
//
// Note [Copy on write]
// `tensor._lazy_clone()` has a storage of its own, with a version of its own, but the bytes of the first: both storages are
// marked kCopyOnWrite, and their memory belongs to a third, the owner, which no tensor sees and which each of them holds.
// Reading asks nothing. Who is about to write calls before_write, which gives the storage bytes of its own: a copy, or the
// shared ones if nobody else holds them any more. There are few such places: what an operator writes in place
// (autograd::check_inplace, by the branch that it has anyway) or as out= (infer::Output), and where an address is handed out
// (data_ptr, numpy, DLPack). Kernels get addresses that were asked for before, so none of them can meet a shared storage.
//
// Small storages have their bytes behind their header (new_storage), where the owner cannot take them away. Then the owner
// knows the storage they lie in (its home), and the others that share them hold that as well.
#pragma once

#include "core/storage.h"

namespace mt {

inline bool is_copy_on_write(const Storage& storage) { return storage.guards & kCopyOnWrite; }

// A storage with the same bytes, which it shares until one is written; or has copied, where they are not the library's own,
// so that others may write them unseen.
StorageRef lazy_clone(Storage& storage);

// Gives the storage bytes of its own.
void materialize(Storage& storage);
inline void before_write(Storage& storage) {
  if (is_copy_on_write(storage)) [[unlikely]]
    materialize(storage);
}

// The storage whose memory it is: its owner's if it has one.
Storage& memory_of(Storage& storage);

}  // namespace mt
