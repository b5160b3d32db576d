// Orders made of sort and gather, counts of sums at places.
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

Tensor value_counts(const Tensor& self, const Tensor& weights, int64_t size) {
  const DType dtype = !weights.defined()                  ? DType::int64
                      : weights.dtype() == DType::float32 ? DType::float32
                                                          : DType::float64;
  const TensorOptions options{dtype, self.device()};
  const Tensor shares =
      weights.defined() ? ops::_to_copy(weights, dtype) : ops::expand(ops::ones({}, options), self.sizes());
  const Tensor places = self.dtype() == DType::int64 ? self : ops::_to_copy(self, DType::int64);
  return ops::index_add(ops::zeros(IntList{&size, 1}, options), 0, places, shares);
}

// What lies outside has a place behind the last bin.
Tensor histogram_counts(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  const Tensor flat = self.reshape(Dims{-1});
  const Tensor inside = ops::logical_and(ops::ge(flat, min), ops::le(flat, max));
  const double width = max.to<double>() - min.to<double>();
  const Tensor at = ops::div(ops::mul(ops::sub(flat, min), Scalar(bins)), Scalar(width));
  const Tensor place = ops::clamp(ops::_to_copy(at, DType::int64), Scalar(0), Scalar(bins - 1));
  const Tensor counts = value_counts(ops::where(inside, place, Scalar(bins)), Tensor(), bins + 1);
  return ops::_to_copy(ops::narrow(counts, 0, 0, bins), self.dtype());
}

}  // namespace mt::substitutes
