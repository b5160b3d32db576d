// Operators that draw random numbers, inside vmap.
#pragma once

#include "transforms/batch.h"

namespace mt::batch {

// What was asked of vmap; refuses where random operators are errors.
Randomness randomness(const Call& call);
// One draw for all slices, with the shape of the first.
Values drawn_for_all(Call& call);
// By an operator that is given sizes.
Values drawn_sized(Call& call);

}  // namespace mt::batch
