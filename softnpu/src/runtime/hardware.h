// What the emulated card has. Core counts of an Ascend 910B1; programs size their work by them.
#pragma once

#include <cstdint>

namespace softnpu {

inline constexpr int64_t kCubeCores = 24, kVectorCores = 48, kCpuCores = 6, kL2Bytes = 192 << 20;

}  // namespace softnpu
