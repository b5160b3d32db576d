// Sums over rows of a table: the gradient of a lookup, and bags of rows.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// grad [..., width] adds up in the rows of out [rows, width] that the indices [...] name; `padding` (or -1) counts
// nothing. `by_frequency` divides each row's sum by the number of times it is named.
void embedding_backward(const View& grad, const View& indices, int64_t padding, bool by_frequency,
                        const View& out);

enum class BagMode { sum, mean, max };

struct BagOptions {
  BagMode mode;
  int64_t padding;                // a row that counts nothing, or -1
  const View* weights = nullptr;  // of each index; for sums
};

// Bag b consists of the indices from offsets[b] to the next offset. out [bags, width]; bag_of [indices] receives the bag of
// each index, sizes [bags] how many of its rows counted, places [bags, width] the rows that the maxima came from. All
// but out may be null.
void embedding_bag(const View& table, const View& indices, const View& offsets, const BagOptions& options,
                   const View& out, const View* bag_of, const View* sizes, const View* places);

}  // namespace mt::kernels
