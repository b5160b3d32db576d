// Order along one dimension: sorting, selecting and searching. NaN is larger than every number, and equal elements keep
// their order, whichever way they are sorted.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// values and indices (int64) are shaped like `in`.
void sort(const View& in, int dim, bool descending, const View& values, const View& indices);
// The k largest (smallest) in order; the first of equals comes first. Results have size k along dim.
void topk(const View& in, int dim, int64_t k, bool largest, const View& values, const View& indices);
// The k-th smallest, k from 0. Results have size 1 along dim.
void kth_value(const View& in, int dim, int64_t k, const View& values, const View& indices);
// The lower of the two middle elements. NaN if there is one, or with ignore_nan only if there is nothing else.
void median(const View& in, int dim, bool ignore_nan, const View& values, const View& indices);
// The same of all elements together; without any it is NaN, or the lowest integer. `value` has one element.
void median_of_all(const View& in, bool ignore_nan, const View& value);
// The most frequent value, the smallest of several, and where it is found last.
void mode(const View& in, int dim, const View& values, const View& indices);
// The largest (smallest) so far and where it is; the last of equals.
void running_extremum(bool max, const View& in, int dim, const View& values, const View& indices);

// The order of the rows of a dense matrix, compared element by element.
void row_order(const View& rows, const View& order);

// out[.., j] = the place in boundaries[.., :] before which values[.., j] belongs (after its equals if `right`).
// Dense operands; boundaries of one dimension serve every row. `sorter` may be null: the order in which the boundaries
// ascend.
void search_sorted(const View& boundaries, const View* sorter, const View& values, bool right,
                   const View& out);

}  // namespace mt::kernels
