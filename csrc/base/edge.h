// How the edges of a tensor are continued beyond it.
#pragma once

#include <cstdint>

namespace mt {

// The numbers are those of the operators' argument `mode`.
enum class Edge : int64_t { reflect, replicate, circular };

}  // namespace mt
