#include "runtime/memory_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <map>
#include <mutex>

namespace softnpu {

MemoryFile::~MemoryFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::shared_ptr<MemoryFile> open_memory_file(pid_t pid, const std::string& name) {
  // Each import of a piece shares the file with the others, or many pieces would use up the descriptors.
  static auto* mutex = new std::mutex;
  static auto* opened = new std::map<std::pair<pid_t, std::string>, std::weak_ptr<MemoryFile>>;
  std::lock_guard lock(*mutex);
  std::weak_ptr<MemoryFile>& known = (*opened)[{pid, name}];
  if (std::shared_ptr<MemoryFile> file = known.lock()) return file;

  const std::string folder = "/proc/" + std::to_string(pid) + "/fd";
  const std::string wanted = "/memfd:" + name + " (deleted)";
  DIR* descriptors = opendir(folder.c_str());
  if (descriptors == nullptr) return nullptr;
  std::shared_ptr<MemoryFile> found;
  while (const dirent* entry = readdir(descriptors)) {
    char target[256];
    const std::string path = folder + "/" + entry->d_name;
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    if (length < 0 || std::string(target, size_t(length)) != wanted) continue;
    const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor >= 0) found = std::make_shared<MemoryFile>(descriptor);
    break;
  }
  closedir(descriptors);
  known = found;
  return found;
}

}  // namespace softnpu
