// A process by its id and the time it started, so that a reused id is not taken for the process that had it.
#pragma once

#include <cstdint>

namespace softnpu::hccl {

struct PeerProcess {
  int32_t id = 0;
  uint64_t started = 0;  // in clock ticks since the system started
};

PeerProcess this_process();

// False once the process has ended, also while its parent has not yet collected it.
bool is_alive(const PeerProcess& process);

}  // namespace softnpu::hccl
