// Cells that move elements, made of gather, scatter and sort.
#include <functional>
#include <numeric>

#include "generated/ops/compositions.h"
#include "generated/ops/ops.h"

namespace mt::composition {
namespace {

TensorOptions places_beside(const Tensor& like) { return {DType::int64, like.device()}; }

Dims replaced(IntList sizes, int64_t dim, int64_t size) {
  Dims result(sizes);
  result[size_t(wrap_dim(dim, int64_t(sizes.size())))] = size;
  return result;
}

// The last `spatial` dimensions as one.
Dims flat_planes(IntList sizes, int64_t spatial) {
  const size_t kept = sizes.size() - size_t(spatial);
  Dims result(sizes.first(kept));
  result.push_back(
      std::accumulate(sizes.begin() + int64_t(kept), sizes.end(), int64_t(1), std::multiplies<>()));
  return result;
}
Tensor flat_planes(const Tensor& t, int64_t spatial) { return t.reshape(flat_planes(t.sizes(), spatial)); }

// A list of places along `dim`, for every element of `source`.
Tensor places_like(const Tensor& index, int64_t dim, const Tensor& source) {
  Dims line(size_t(source.dim()), 1);
  line[size_t(wrap_dim(dim, source.dim()))] = index.numel();
  return ops::expand(index.reshape(line), source.sizes());
}

}  // namespace

Tensor plane_scatter(const Tensor& values, const Tensor& indices, IntList size, int64_t spatial,
                     bool accumulate) {
  const Tensor empty = ops::zeros(flat_planes(size, spatial), {values.dtype(), values.device()});
  const Tensor from = flat_planes(values, spatial), to = flat_planes(indices, spatial);
  return (accumulate ? ops::scatter_add(empty, -1, to, from) : ops::scatter(empty, -1, to, from))
      .reshape(size);
}
Tensor plane_gather(const Tensor& self, const Tensor& indices, int64_t spatial) {
  return ops::gather(flat_planes(self, spatial), -1, flat_planes(indices, spatial)).reshape(indices.sizes());
}
Tensor max_pool2d_backward(const Tensor& grad_output, const Tensor& self, IntList, IntList, IntList, IntList,
                           bool, const Tensor& indices) {
  return plane_scatter(grad_output, indices, self.sizes(), 2, true);
}

// Where each element of the window lies is read off a window of the numbers 0, 1, 2, …
Tensor as_strided_sum(const Tensor& self, int64_t room, IntList size, IntList stride, int64_t offset) {
  const Tensor places = ops::as_strided(ops::arange(Scalar(room), places_beside(self)), size, stride, offset);
  const Tensor sums = ops::zeros(Dims{room}, {self.dtype(), self.device()});
  return ops::index_add(sums, 0, places.reshape(Dims{self.numel()}), self.reshape(Dims{self.numel()}));
}

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t side = self.size(-1) + std::abs(offset);
  Dims sizes(self.sizes());
  sizes.back() = side;
  sizes.push_back(side);
  const Tensor square = ops::zeros(sizes, {self.dtype(), self.device()});
  ops::copy_(ops::diagonal(square, offset, -2, -1), self);
  return ops::movedim(square, Dims{-2, -1}, Dims{dim1, dim2});
}

Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  if (self.dim() == 0) return index_fill(self.reshape(Dims{1}), 0, index, value).reshape({});
  if (value.device().is_cpu()) return ops::index_fill(self, dim, index, item(value));
  const Tensor source =
      ops::expand(ops::_to_copy(value, self.dtype()).reshape({}), replaced(self.sizes(), dim, index.numel()));
  return ops::index_copy(self, dim, index.reshape(Dims{index.numel()}), source);
}

Tensor index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    std::string_view reduce, bool include_self) {
  if (self.dim() == 0)
    return index_reduce(self.reshape(Dims{1}), 0, index, source.reshape(Dims{1}), reduce, include_self)
        .reshape({});
  return ops::scatter_reduce(self, dim, places_like(index, dim, source), source, reduce, include_self);
}

void triangle_indices(int64_t row, int64_t col, int64_t offset, bool upper, const Tensor& out) {
  const Tensor all = ops::ones(Dims{row, col}, {DType::float32, out.device()});
  const Tensor part = upper ? ops::triu(all, offset) : ops::tril(all, offset);
  ops::copy_(out, ops::transpose(ops::nonzero_static(part, out.size(1)), 0, 1));
}

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

Tensor reverse_cumsum(const Tensor& self, int64_t dim) {
  if (self.dim() == 0) return self;
  const Dims along{dim};
  return ops::flip(ops::cumsum(ops::flip(self, along), dim), along);
}

namespace {

// 0 where a maximum is the larger one's, which may be infinite.
Tensor below(const Tensor& maximum, const Tensor& larger) {
  return ops::where(ops::eq(maximum, larger), Scalar(0), ops::sub(maximum, larger));
}

// Sums over 1, 2, 4, … neighbours of exponentials, relative to the largest one: nothing overflows, and the logarithm
// is taken once.
Tensor log_sums(const Tensor& self, int64_t dim, bool reverse) {
  if (self.dim() == 0) return self;
  const int64_t length = self.size(dim);
  const bool half = self.dtype() == DType::float16 || self.dtype() == DType::bfloat16;
  Tensor maxima = half ? ops::_to_copy(self, DType::float32) : self, sums = ops::ones_like(maxima);
  for (int64_t step = 1; step < length; step *= 2) {
    const auto head = [&](const Tensor& t) { return ops::narrow(t, dim, 0, length - step); };
    const auto tail = [&](const Tensor& t) { return ops::narrow(t, dim, step, length - step); };
    const auto with_rest = [&](const Tensor& both, const Tensor& t) {
      const Tensor rest = ops::narrow(t, dim, reverse ? length - step : 0, step);
      return reverse ? ops::cat(std::array{both, rest}, dim) : ops::cat(std::array{rest, both}, dim);
    };
    const Tensor larger = ops::maximum(head(maxima), tail(maxima));
    const Tensor both = ops::add(ops::mul(head(sums), ops::exp(below(head(maxima), larger))),
                                 ops::mul(tail(sums), ops::exp(below(tail(maxima), larger))));
    sums = with_rest(both, sums);
    maxima = with_rest(larger, maxima);
  }
  return ops::add(maxima, ops::log(sums));
}

}  // namespace

Tensor logcumsumexp(const Tensor& self, int64_t dim) { return log_sums(self, dim, false); }
Tensor reverse_logcumsumexp(const Tensor& self, int64_t dim) { return log_sums(self, dim, true); }

// Every distance pulls at the two points that it lies between.
Tensor pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& pdist) {
  const Tensor nothing = ops::zeros_like(self);
  const int64_t points = self.size(0);
  if (p == 0.0 || grad.numel() == 0 || self.size(1) == 0) return nothing;
  const Tensor pairs = ops::triu_indices(points, points, 1, places_beside(self));
  const Tensor first = ops::select(pairs, 0, 0), second = ops::select(pairs, 0, 1);
  const Tensor apart = ops::sub(ops::index_select(self, 0, first), ops::index_select(self, 0, second));
  const Tensor length = ops::unsqueeze(pdist, 1), pull = ops::unsqueeze(grad, 1);
  Tensor share = ops::sign(apart);
  if (std::isinf(p)) {
    share = ops::mul(share, ops::eq(ops::abs(apart), length));
  } else if (p != 1.0) {
    const Tensor powers = ops::div(ops::pow(ops::abs(apart), Scalar(p - 1)), ops::pow(length, Scalar(p - 1)));
    share = ops::where(ops::eq(length, Scalar(0)), Scalar(0), ops::mul(share, powers));
  }
  share = ops::mul(share, pull);
  return ops::index_add(ops::index_add(nothing, 0, first, share), 0, second, ops::neg(share));
}

}  // namespace mt::composition
