// Draws whose distribution is given by tensors, with PyTorch's CPU values for the same seed. Views are dense.
#pragma once

#include "kernels/common/view.h"
#include "kernels/random/mt19937.h"

namespace mt::kernels {

void poisson(const View& rates, const View& out, Mt19937& generator);
// Successes in `counts` trials.
void binomial(const View& counts, const View& probabilities, const View& out, Mt19937& generator);
// Gamma numbers of rate 1.
void standard_gamma(const View& concentrations, const View& out, Mt19937& generator);
// weights is rows x categories, out rows x samples (int64): categories drawn by weight. Without replacement the numbers
// are drawn for the weights row by row, or column by column.
void multinomial(const View& weights, bool replacement, const View& out, Mt19937& generator,
                 bool by_columns = false);

}  // namespace mt::kernels
