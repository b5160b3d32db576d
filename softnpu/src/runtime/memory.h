// Questions about host memory.
#pragma once

#include <cstdint>

namespace softnpu {

// Whether the range lies in memory from aclrtMallocHost or aclrtHostRegister: only such copies are
// asynchronous.
bool is_pinned(const void* address, uint64_t bytes);

}  // namespace softnpu
