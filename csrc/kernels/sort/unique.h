// Rows that occur more than once.
#pragma once

#include <vector>

#include "kernels/common/view.h"

namespace mt::kernels {

struct RowGroups {
  std::vector<int64_t> first;    // the first row of every group
  std::vector<int64_t> counts;   // how many rows it has
  std::vector<int64_t> inverse;  // the group of every row
};

// Groups equal rows of a dense matrix, smaller ones first; with `consecutive` only neighbours, in their order. As in
// PyTorch, a row with a NaN equals no other.
RowGroups group_rows(const View& rows, bool consecutive);

}  // namespace mt::kernels
