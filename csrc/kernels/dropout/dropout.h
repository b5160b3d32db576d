// Dropout with masks of one bit or one byte per element.
#pragma once

#include <cstdint>

#include "kernels/common/view.h"

namespace mt::kernels {

// Bit i of `bits` (dense bytes, lowest bit first) becomes 1 with probability 1 - drop for i < count, 0 beyond.
void dropout_bits(const View& bits, int64_t count, double drop, uint64_t seed);
// out = in / (1 - drop) where the bit is 1, else 0. With drop == 1 all becomes 0, with drop == 0 all stays.
void dropout_by_bits(const View& in, const View& bits, double drop, const View& out);

}  // namespace mt::kernels
