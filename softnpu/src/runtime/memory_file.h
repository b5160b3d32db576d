// A file of memory that several processes can map, and how one process finds those of another.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

namespace softnpu {

class MemoryFile {
 public:
  explicit MemoryFile(int descriptor) : descriptor_(descriptor) {}
  MemoryFile(const MemoryFile&) = delete;
  ~MemoryFile();
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// The memory file that process `pid` made under `name`; nullptr when the process has none, or is not ours to
// look into.
std::shared_ptr<MemoryFile> open_memory_file(pid_t pid, const std::string& name);

}  // namespace softnpu
