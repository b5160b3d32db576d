// What sampling from a language model's logits leaves standing.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// Every row of in ([rows, vocabulary]) keeps its k[row] largest logits and of those the fewest that have the probability
// p[row] together (the largest always); the rest become -infinity. k (int32) and p (float32) may be null. Dense operands,
// in and out in float32.
void keep_likeliest(const View& in, const View* k, const View* p, const View& out);

}  // namespace mt::kernels
