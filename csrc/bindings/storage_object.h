// Storage in Python: the handle that _storage.py's classes wrap.
#pragma once

#include "bindings/tensor_object.h"
#include "core/storage.h"

namespace mt::bindings {

struct StorageHandle {
  StorageRef ref;
};

PyObject* wrap_storage_handle(const StorageRef& storage);

}  // namespace mt::bindings
