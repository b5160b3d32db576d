// Storages in Python. StorageBase is a raw type, like Tensor's, whose objects keep their identity.
//
// Note [Identity of storages]
// A storage has at most one Python object, which holds a reference to it. When the object's last Python reference goes
// while tensors still use the storage, and Python could tell a new object from the old one (attributes, weak
// references, a class of its own), ownership flips as it does for tensors (Note [Python identity]): the storage keeps
// the object until it is wrapped again or dies. Few programs do that, so a table beside the storages says which ones.
#pragma once

#include "bindings/tensor_object.h"
#include "core/storage.h"

namespace mt::bindings {

// What Python's classes call to do something with the bytes.
struct StorageHandle {
  StorageRef ref;
};

PyObject* wrap_storage_handle(const StorageRef& storage);
bool create_storage_type(PyObject* module);

}  // namespace mt::bindings
