// Rows whose norm is too large, shortened.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// Every slice of `in` along `dim` whose p-norm exceeds max_norm is scaled down to it. out may be in.
void renorm(const View& in, const View& out, int dim, double p, double max_norm);
// The same for those rows of a table that the indices (integers) name.
void renorm_rows(const View& table, const View& indices, double p, double max_norm);

}  // namespace mt::kernels
