#include "autograd/formulas_shape.h"

namespace mt::formulas {
namespace {

// Zeros of that shape beside the gradients there are. They are one number seen many times: joining copies them anyway.
Tensor zeros_beside(std::span<const Tensor> grads, IntList sizes) {
  for (const Tensor& grad : grads)
    if (grad.defined()) return expand(zeros({}, {grad.dtype(), grad.device()}), sizes, false);
  fail(ErrorKind::runtime, "a node of the backward pass ran without a gradient");
}

}  // namespace

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

}  // namespace mt::formulas
