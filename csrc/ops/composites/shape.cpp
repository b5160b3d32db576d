// Shapes in terms of other operators.
#include "generated/ops/composites/shape.h"

#include <algorithm>

#include "generated/ops/binary.h"
#include "generated/ops/copy.h"
#include "generated/ops/reduce.h"
#include "generated/ops/shape.h"
#include "generated/ops/view.h"

namespace mt::composites {

Tensor stack(TensorList tensors, int64_t dim) {
  MT_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  const int64_t at = wrap_dim(dim, tensors[0].dim() + 1);
  std::vector<Tensor> rows;
  for (size_t i = 0; i < tensors.size(); ++i) {
    MT_CHECK(std::ranges::equal(tensors[i].sizes(), tensors[0].sizes()),
             "stack expects each tensor to be equal size, but got ", to_string(tensors[0].sizes()),
             " at entry 0 and ", to_string(tensors[i].sizes()), " at entry ", i);
    rows.push_back(ops::unsqueeze(tensors[i], at));
  }
  return ops::cat(rows, at);
}

Tensor roll(const Tensor& self, const DimList& shifts, const DimList& dims) {
  const IntList by = shifts.dims(), along = dims.dims();
  MT_CHECK(!by.empty(), "`shifts` required");
  if (along.empty() && by.size() == 1) {
    const Tensor flat = self.reshape(Dims{-1});
    return ops::view(roll(flat, shifts, DimList(0)), self.sizes());
  }
  MT_CHECK(by.size() == along.size(), "shifts and dimensions must align. shifts: ", by.size(),
           ", dims:", along.size());
  Tensor out = self;
  for (size_t i = 0; i < by.size(); ++i) {
    const int64_t d = wrap_dim(along[i], self.dim());
    MT_CHECK_AS(index, self.dim() > 0, "Dimension specified as ", along[i], " but tensor has no dimensions");
    const int64_t size = self.sizes()[size_t(d)];
    if (self.numel() == 0) continue;
    const int64_t shift = (by[i] % size + size) % size;
    if (shift == 0) continue;
    const int64_t lengths[] = {size - shift, shift};
    const std::vector<Tensor> split = ops::split_with_sizes(out, lengths, d);
    const Tensor parts[] = {split[1], split[0]};
    out = ops::cat(parts, d);
  }
  return out.same(self) ? ops::clone(self, std::nullopt) : out;
}

Tensor repeat(const Tensor& self, IntList repeats) {
  MT_CHECK(int64_t(repeats.size()) >= self.dim(),
           "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  // Each dimension becomes two, (copies, size), of which the first is expanded; joining them makes the copy.
  const size_t lead = repeats.size() - size_t(self.dim());
  Dims split, wide, joined;
  for (size_t i = 0; i < repeats.size(); ++i) {
    MT_CHECK(repeats[i] >= 0, "Trying to create tensor with negative dimension ", repeats[i], ": ",
             to_string(repeats));
    const int64_t size = i < lead ? 1 : self.sizes()[i - lead];
    int64_t total;
    MT_CHECK(!__builtin_mul_overflow(size, repeats[i], &total), "repeat: the result is too large");
    joined.push_back(total);
    // A dimension that is not repeated needs no second one.
    if (repeats[i] != 1) split.push_back(1), wide.push_back(repeats[i]);
    split.push_back(size), wide.push_back(size);
  }
  checked_numel(joined);
  const Tensor expanded = ops::expand(self.reshape(split), wide, false);
  return ops::view(ops::clone(expanded, MemoryFormat::contiguous), joined);
}

Tensor tile(const Tensor& self, IntList dims) {
  Dims repeats;
  for (int64_t i = int64_t(dims.size()); i < self.dim(); ++i) repeats.push_back(1);
  for (int64_t d : dims) repeats.push_back(d);
  return ops::repeat(self, repeats);
}

Tensor trace(const Tensor& self) {
  MT_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
  MT_CHECK_AS(not_implemented, self.dtype() != DType::boolean, "\"trace\" not implemented for 'Bool'");
  return ops::sum(ops::diagonal(self, 0, 0, 1), DimList(), false, std::nullopt);
}

Tensor diag(const Tensor& self, int64_t diagonal) {
  MT_CHECK(self.dim() == 1 || self.dim() == 2, "diag(): Supports 1D or 2D tensors. Got ", self.dim(), "D");
  if (self.dim() == 1) return ops::diag_embed(self, diagonal, 0, 1);
  return ops::clone(ops::diagonal(self, diagonal, 0, 1), MemoryFormat::contiguous);
}

Tensor kron(const Tensor& self, const Tensor& other) {
  const auto total = size_t(std::max(self.dim(), other.dim()));
  // Sizes with ones in front.
  const auto widened = [&](const Tensor& tensor) {
    Dims sizes;
    for (size_t d = size_t(tensor.dim()); d < total; ++d) sizes.push_back(1);
    for (const int64_t size : tensor.sizes()) sizes.push_back(size);
    return sizes;
  };
  const Dims left = widened(self), right = widened(other);
  Tensor spread = self.reshape(left), filled = other.reshape(right);
  Dims result;
  for (size_t d = 0; d < total; ++d) result.push_back(left[d] * right[d]);
  // Several rows of the result share a long one of either side.
  const bool shared = total > 1 && std::max(left[0], right[0]) > 1;
  if (shared) {
    Dims wide = left, high;
    for (size_t d = 0; d + 1 < total; ++d) high.push_back(right[d]);
    wide.push_back(right[total - 1]);
    high.push_back(left[total - 1]), high.push_back(right[total - 1]);
    spread = ops::expand(ops::unsqueeze(spread, -1), wide);
    filled = ops::expand(ops::unsqueeze(filled, -2), high);
  }
  // Each dimension becomes two, of which one belongs to either side.
  Dims of_spread, of_filled;
  for (size_t d = 0; d < total - size_t(shared); ++d) {
    of_spread.push_back(left[d]), of_spread.push_back(1);
    of_filled.push_back(1), of_filled.push_back(right[d]);
  }
  if (shared) of_spread.push_back(result[total - 1]), of_filled.push_back(result[total - 1]);
  return ops::mul(spread.reshape(of_spread), filled.reshape(of_filled)).reshape(result);
}

}  // namespace mt::composites
