// Sums of rows of a table that indices choose: what products with a sparse matrix and sums of equal indices are.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// out[i] is the sum of weights[j] * table[rows[j]] for j from offsets[i] to offsets[i + 1]; table [n, width], out
// [segments, width]. Without weights, of the rows themselves.
void segment_sum(const View& table, const View& offsets, const View& rows, const View* weights,
                 const View& out);

// out[rows[j]] += weights[j] * table[columns[j]], in no order of rows; out [n, width] begins with zeros.
void scatter_products(const View& table, const View& rows, const View& columns, const View& weights,
                      const View& out);

// out[i] is how many of the rows are less than i, for 0 to the number of rows there are.
void row_offsets(const View& rows, const View& out);

// out[j] is the inner product of left[rows[j]] and right[columns[j]].
void sampled_products(const View& left, const View& right, const View& rows, const View& columns,
                      const View& out);

}  // namespace mt::kernels
