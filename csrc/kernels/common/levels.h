// A loop compiled for each machine level (cpu_features.h) and called at the one in use.
#pragma once

#include "kernels/common/cpu_features.h"

namespace mt::kernels {

// Body has a static function `run`, always inlined; `at_level<Body>(arguments...)` calls it.
template <class Body>
struct AtLevels {
  template <class... A>
  static void base(A... arguments) {
    Body::run(arguments...);
  }
  template <class... A>
  MT_WIDE static void wide(A... arguments) {
    Body::run(arguments...);
  }
  template <class... A>
  MT_WIDEST static void widest(A... arguments) {
    Body::run(arguments...);
  }
};

template <class Body, class... A>
void at_level(A... arguments) {
  if constexpr (kHasLevels) {
    if (cpu_level == 2) return AtLevels<Body>::widest(arguments...);
    if (cpu_level == 1) return AtLevels<Body>::wide(arguments...);
  }
  AtLevels<Body>::base(arguments...);
}

}  // namespace mt::kernels
