#include "autograd/formulas/view.h"

#include <algorithm>

#include "autograd/node.h"
#include "core/intercept.h"
#include "generated/ops/binary.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/shape.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"

namespace mt::formulas {
namespace {

// Whether two elements of a window may be one in memory: some stride does not reach past what smaller ones span.
bool overlaps(IntList sizes, IntList strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return false;
    if (sizes[i] > 1) dims.push_back({strides[i], sizes[i]});
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

// Zeros of that shape beside the gradients there are. They are one number seen many times: joining copies them anyway.
Tensor zeros_beside(std::span<const Tensor> grads, IntList sizes) {
  for (const Tensor& grad : grads)
    if (grad.defined()) return expand(zeros({}, {grad.dtype(), grad.device()}), sizes, false);
  fail(ErrorKind::runtime, "a node of the backward pass ran without a gradient");
}

}  // namespace

Dims inverse_permutation(IntList dims) {
  Dims out(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) out[size_t(wrap_dim(dims[i], int64_t(dims.size())))] = int64_t(i);
  return out;
}

Tensor slice_gradient(const Tensor& grad, IntList sizes, int64_t dim, std::optional<int64_t> start,
                      std::optional<int64_t> end, int64_t step) {
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  return ops::slice_backward(grad, sizes, dim, start.value_or(0), end.value_or(kLast), step);
}

Tensor as_strided_backward(const Tensor& grad, const autograd::Geometry& self, IntList size, IntList stride,
                           std::optional<int64_t> storage_offset) {
  // Elements that were read several times get the sum of their gradients; if several elements of self are one in
  // memory, they share it.
  const int64_t offset = storage_offset.value_or(self.offset);
  Tensor memory;
  if (overlaps(size, stride)) {
    memory = ops::_as_strided_sum(grad, self.room, size, stride, offset);
  } else {
    memory = ops::new_zeros(grad, IntList{&self.room, 1});
    ops::copy_(ops::as_strided(memory, size, stride, offset), grad, false);
  }
  if (overlaps(self.sizes, self.strides)) {
    const Tensor ones = ops::ones(self.sizes, {grad.dtype(), grad.device()});
    const Tensor count = ops::_as_strided_sum(ones, self.room, self.sizes, self.strides, self.offset);
    memory = memory / ops::clamp_min(count, Scalar(1));
  }
  return ops::as_strided(memory, self.sizes, self.strides, self.offset);
}

Tensor unbind_backward(std::span<const Tensor> grads, int64_t dim, IntList sizes) {
  const size_t d = size_t(wrap_dim(dim, int64_t(sizes.size())));
  Dims piece(sizes.first(d));
  for (int64_t size : sizes.subspan(d + 1)) piece.push_back(size);
  std::vector<Tensor> pieces(grads.begin(), grads.end());
  pieces.resize(size_t(sizes[d]));
  Tensor nothing;
  for (Tensor& grad : pieces) {
    if (grad.defined()) continue;
    if (!nothing.defined()) nothing = zeros_beside(grads, piece);
    grad = nothing;
  }
  return stack(pieces, int64_t(d));
}

Tensor split_with_sizes_backward(std::span<const Tensor> grads, IntList split_sizes, int64_t dim,
                                 IntList sizes) {
  const size_t d = size_t(wrap_dim(dim, int64_t(sizes.size())));
  std::vector<Tensor> pieces(grads.begin(), grads.end());
  pieces.resize(split_sizes.size());
  Dims piece(sizes);
  for (size_t i = 0; i < pieces.size(); ++i) {
    piece[d] = split_sizes[i];
    if (!pieces[i].defined()) pieces[i] = zeros_beside(grads, piece);
  }
  return cat(pieces, int64_t(d));
}

Tensor split_backward(std::span<const Tensor> grads, int64_t split_size, int64_t dim, IntList sizes) {
  const int64_t size = sizes[size_t(wrap_dim(dim, int64_t(sizes.size())))];
  Dims lengths;
  int64_t at = 0;
  do {
    lengths.push_back(std::min(split_size, size - at));
    at += split_size;
  } while (at < size);
  return split_with_sizes_backward(grads, lengths, dim, sizes);
}

Tensor as_strided_tangent(const Tensor& tangent, const autograd::Geometry& self, IntList size, IntList stride,
                          std::optional<int64_t> offset) {
  const autograd::Geometry own = autograd::geometry_of(tangent);
  if ((own.offset == self.offset && own.room == self.room) || special(tangent) & kBatched)
    return ops::as_strided(tangent, size, stride, offset);
  const Tensor whole = ops::zeros(Dims{self.room}, {tangent.dtype(), tangent.device()});
  ops::copy_(ops::as_strided(whole, self.sizes, self.strides, self.offset), tangent, false);
  return ops::as_strided(whole, size, stride, offset.value_or(self.offset));
}

}  // namespace mt::formulas
