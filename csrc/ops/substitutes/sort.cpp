// Orders made of sort and gather.
#include "generated/ops/substitutes/sort.h"

#include <array>

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/reduce.h"
#include "generated/ops/shape.h"
#include "generated/ops/sort.h"
#include "generated/ops/view.h"
#include "ops/substitutes/common.h"

namespace mt::substitutes {

// Sorting by one column after the other, the last first, without changing the order of equals.
Tensor row_order(const Tensor& rows) {
  Tensor order = ops::arange(Scalar(rows.size(0)), places_beside(rows));
  for (int64_t column = rows.size(1) - 1; column >= 0; --column) {
    const Tensor keys = ops::index_select(ops::select(rows, 1, column), 0, order);
    order = ops::index_select(order, 0, std::get<1>(ops::sort(keys, true, 0, false)));
  }
  return order;
}

// In sorted order equal values are neighbours: a run is longest at its end, and the first that is longest is the
// smallest of those.
std::tuple<Tensor, Tensor> mode(const Tensor& self, int64_t dim, bool keepdim) {
  if (self.dim() == 0) return {self, ops::zeros({}, places_beside(self))};
  const auto [sorted, places] = ops::sort(self, true, dim, false);
  const int64_t length = self.size(dim);
  const Tensor begins =
      ops::ne(ops::narrow(sorted, dim, 1, length - 1), ops::narrow(sorted, dim, 0, length - 1));
  Dims line(size_t(self.dim()), 1);
  line[size_t(wrap_dim(dim, self.dim()))] = length;
  const Tensor numbers =
      ops::expand(ops::arange(Scalar(length), places_beside(self)).reshape(line), self.sizes());
  const Tensor first = ops::narrow(numbers, dim, 0, 1), later = ops::narrow(numbers, dim, 1, length - 1);
  const Tensor marks = ops::cat(std::array{first, ops::where(begins, later, Scalar(0))}, dim);
  const Tensor runs = ops::sub(numbers, std::get<0>(ops::cummax(marks, dim)));
  const Tensor best = ops::argmax(runs, dim, true);
  const Tensor values = ops::gather(sorted, dim, best), indices = ops::gather(places, dim, best);
  if (keepdim) return {values, indices};
  return {ops::squeeze(values, dim), ops::squeeze(indices, dim)};
}

}  // namespace mt::substitutes
