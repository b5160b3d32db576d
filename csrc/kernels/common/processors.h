// How many processors this process may use.
#pragma once

#include <string>

namespace mt::kernels {

// Those of its affinity, and no more than the time its control group grants. `root` is where /proc and /sys are found.
int usable_processors(const std::string& root = "");

}  // namespace mt::kernels
