// The chips the software NPU can pass for. They differ in what a program can ask, not in how results are computed.
#pragma once

#include <cstdint>
#include <string_view>

namespace softnpu {

struct Soc {
  const char* name;        // as aclrtGetSocName says it
  const char* short_name;  // also understood by the settings
  int64_t cube_cores, vector_cores, cpu_cores;
  int64_t l2_bytes;
  bool bfloat16;  // chips before the 910B have none: their operators refuse it
};

// nullptr if there is no such chip. "Ascend910B1" and "910B1" are the same.
const Soc* find_soc(std::string_view name);
// The names that find_soc knows, for messages.
const char* soc_names();

}  // namespace softnpu
