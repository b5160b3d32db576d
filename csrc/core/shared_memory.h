// Host memory backed by a file or by an object that other processes can map.
#pragma once

#include <string>

#include "core/storage.h"

namespace mt {

// Note [Sharing memory between processes]
// An anonymous object lives as long as someone has its descriptor open or its memory mapped, so nothing is left behind
// however a process ends; it is passed on by sending the descriptor. A named object costs no descriptor while it is
// mapped; it is passed on by its name, and a count at its start says how many storages (and messages under way) still
// need the name. The last one removes it, unless its process is killed first.
struct SharedObject {
  std::string name;     // a path for a file, "/mindtorch_…" for a named object, empty for an anonymous one
  int descriptor = -1;  // of an anonymous object
  bool counted = false;
  int64_t owner =
      0;  // the process that mapped it: a child made by fork() has its storages but not its share of counts

  SharedObject() = default;
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  ~SharedObject();
};

StorageRef map_file(const std::string& path, bool shared, int64_t nbytes);

// New memory to share, all zero.
StorageRef new_shared_storage(size_t nbytes, bool named);
// Moves the contents to such memory; tensors over the storage stay valid.
void move_to_shared_memory(Storage& storage, bool named);

// The memory of an object of another process. The storage takes the descriptor over, also when it throws.
StorageRef map_descriptor(int descriptor, size_t nbytes);
StorageRef map_shared_name(const std::string& name, size_t nbytes);
// One more or one fewer user of a named object: what a message under way holds.
void count_shared_name(const Storage& storage, int change);

}  // namespace mt
