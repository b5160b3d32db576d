// Whether Python takes over what is done with a tensor: Note [Interception] in core/intercept.h.
#pragma once

#include "core/intercept.h"

namespace mt {

// Its class, or a mode of the thread.
bool wanted_by_python(uint8_t special);
// The same, and no transformation of functions comes first.
inline bool for_python(uint8_t special) {
  return wanted_by_python(special) && !(special & (kBatched | kDual));
}

}  // namespace mt
