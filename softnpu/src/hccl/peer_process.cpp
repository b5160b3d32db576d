#include "hccl/peer_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace softnpu::hccl {
namespace {

// The start time of a running process; 0 when there is none of that id, or only its remains.
uint64_t start_time(int32_t id) {
  const std::string path = "/proc/" + std::to_string(id) + "/stat";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[1024];
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return 0;
  text[length] = 0;
  // The name in parentheses may hold anything; what follows the last one is: state, then numbers, of which the
  // 20th is the start time.
  const char* after_name = std::strrchr(text, ')');
  char state = 0;
  unsigned long long started = 0;
  if (after_name == nullptr ||
      std::sscanf(after_name + 1,
                  " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &state,
                  &started) != 2)
    return 0;
  return state == 'Z' || state == 'X' ? 0 : started;
}

}  // namespace

PeerProcess this_process() { return {getpid(), start_time(getpid())}; }

bool is_alive(const PeerProcess& process) { return start_time(process.id) == process.started; }

}  // namespace softnpu::hccl
