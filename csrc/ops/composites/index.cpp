// Indexing in terms of other operators.
#include "generated/ops/composites/index.h"

#include <algorithm>

#include "core/transform.h"
#include "core/warn.h"
#include "generated/ops/binary.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"
#include "infer/indexing.h"
#include "infer/infer.h"

namespace mt::composites {
namespace {

// A number as a 0-dim tensor beside `like`; a fill on the device, so nothing waits.
Tensor number_beside(const Scalar& value, const Tensor& like) {
  Tensor t = ops::empty(IntList(), std::nullopt, {infer::result_type(like, value), like.device()});
  ops::fill_(t, value);
  t.impl()->wrapped_number = true;
  return t;
}

Tensor flattened(const Tensor& t) { return t.reshape(Dims{-1}); }

bool is_mask(const Tensor& t) {
  if (t.dtype() != DType::boolean && t.dtype() != DType::uint8) return false;
  MT_CHECK(
      !stands_for_batch(t),
      "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
      "indexing with a boolean mask.");
  return true;
}

// Results of masked_fill always lie row by row.
Tensor in_order(const Tensor& t) { return t.is_contiguous() ? t : ops::clone(t, MemoryFormat::contiguous); }

// One row of coordinates per dimension of the mask.
std::vector<Tensor> coordinates(const Tensor& mask) {
  const Tensor places = ops::nonzero(mask);
  std::vector<Tensor> out;
  for (int64_t d = 0; d < mask.dim(); ++d) out.push_back(ops::select(places, 1, d));
  return out;
}

void check_mask(const Tensor& self, size_t at, const Tensor& mask) {
  if (mask.dtype() == DType::uint8)
    warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.");
  for (size_t d = 0; d < size_t(mask.dim()); ++d)
    MT_CHECK_AS(index, at + d < size_t(self.dim()) && mask.sizes()[d] == self.sizes()[at + d],
                "The shape of the mask ", to_string(mask.sizes()), " at index ", d,
                " does not match the shape of the indexed tensor ", to_string(self.sizes()), " at index ",
                at + d);
}

// Masks become the coordinates of their true elements: one index per dimension they cover.
std::vector<Tensor> without_masks(const Tensor& self, TensorList indices) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Tensor& t = indices[i];
    if (!t.defined() || !is_mask(t)) {
      MT_CHECK_AS(index, !t.defined() || t.dtype() == DType::int64 || t.dtype() == DType::int32,
                  "tensors used as indices must be long, int, byte or bool tensors");
      out.push_back(t);
      continue;
    }
    check_mask(self, out.size(), t);
    for (Tensor& c : coordinates(t)) out.push_back(std::move(c));
  }
  return out;
}

bool is_one_mask(TensorList indices) {
  return indices.size() == 1 && indices[0].defined() && is_mask(indices[0]);
}

// For x[mask]: x with the dimensions that the mask covers taken as one, where its coordinates are a single index.
Dims merged_shape(const Tensor& self, const Tensor& mask) {
  check_mask(self, 0, mask);
  Dims shape{mask.numel()};
  for (int64_t d = mask.dim(); d < self.dim(); ++d) shape.push_back(self.sizes()[size_t(d)]);
  return shape;
}
bool merges(const Tensor& self, TensorList indices) {
  return is_one_mask(indices) && indices[0].dim() > 1 && self.is_contiguous();
}

// x[:, mask] = number needs no list of places. Tells where the mask's dimensions begin.
std::optional<size_t> filled_by_mask(const Tensor& self, TensorList indices, const Tensor& values) {
  if (values.numel() != 1 || values.dtype() != self.dtype() || values.device() != self.device()) return {};
  const auto defined = [](const Tensor& t) { return t.defined(); };
  const auto found = std::ranges::find_if(indices, defined);
  if (std::ranges::count_if(indices, defined) != 1 || found->dim() == 0 || !is_mask(*found)) return {};
  for (int64_t d = 0; d < self.dim(); ++d)
    if (self.strides()[size_t(d)] == 0) return {};  // written to by places, with a warning
  return size_t(found - indices.begin());
}

Tensor fill_by_mask(const Tensor& self, size_t at, const Tensor& mask, const Tensor& value) {
  check_mask(self, at, mask);
  Dims shape(mask.sizes());
  while (at + shape.size() < size_t(self.dim())) shape.push_back(1);
  const Tensor chosen = ops::_to_copy(mask, DType::boolean, std::nullopt).reshape(shape);
  return ops::masked_fill_(self, chosen, value.reshape(Dims{}));
}

int64_t count_of(const Tensor& count) { return item(count).to<int64_t>(); }

// Indices of any size, round and round the dimension.
Tensor modulo(const Tensor& indices, int64_t size) {
  return size == 0 ? indices : ops::remainder(indices, Scalar(size));
}

}  // namespace

Tensor index(const Tensor& self, TensorList indices) {
  if (!merges(self, indices)) return ops::_index(self, without_masks(self, indices));
  const Tensor& mask = indices[0];
  return ops::_index(self.reshape(merged_shape(self, mask)), coordinates(flattened(mask)));
}

Tensor index_put_(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  if (!accumulate)
    if (const auto at = filled_by_mask(self, indices, values))
      return fill_by_mask(self, *at, indices[*at], values);
  return ops::_index_put_(self, without_masks(self, indices), values, accumulate);
}

Tensor index_put(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  return ops::index_put_(ops::clone(self, MemoryFormat::preserve), indices, values, accumulate);
}

Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  MT_CHECK(indices.dtype() == DType::int64,
           "torch.take_along_dim(): dtype of indices should be Long but got ", info(indices.dtype()).legacy);
  if (!dim) return ops::gather(flattened(self), 0, flattened(indices));
  MT_CHECK(self.dim() == indices.dim(),
           "torch.take_along_dim(): input and indices should have the same number of dimensions, but got ",
           self.dim(), " dimensions for input, and ", indices.dim(), " dimensions for indices");
  const size_t d = size_t(wrap_dim(*dim, self.dim()));
  Dims own(self.sizes()), at(indices.sizes());
  if (!own.empty()) own[d] = at[d] = 1;
  Dims shape = infer::broadcast(own, at);
  auto spread = [&](const Tensor& t) {
    if (!shape.empty()) shape[d] = t.sizes()[d];
    return ops::expand(t, shape, false);
  };
  const int64_t size = self.dim() ? self.sizes()[d] : 1;
  return ops::gather(spread(self), int64_t(d), spread(modulo(indices, size)));
}

Tensor nonzero(const Tensor& self) {
  return ops::nonzero_static(self, count_of(ops::_nonzero_count(self)), -1);
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  MT_CHECK(mask.dtype() == DType::boolean, "masked_select: expected BoolTensor for mask");
  Dims shape = infer::broadcast(mask.sizes(), self.sizes());
  const Tensor own = ops::expand(self, shape, false), at = ops::expand(mask, shape, false);
  if (shape.empty()) return ops::index(ops::unsqueeze(own, 0), {{ops::unsqueeze(at, 0)}});
  return ops::index(own, {{at}});
}

Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  MT_CHECK(self.dtype() == source.dtype(),
           "masked_scatter: expected self and source to have same dtypes but got", info(self.dtype()).legacy,
           " and ", info(source.dtype()).legacy);
  MT_CHECK(mask.dtype() == DType::boolean,
           "masked_scatter_ only supports boolean masks, but got mask with dtype ",
           info(mask.dtype()).legacy);
  const Dims shape = infer::broadcast(self.sizes(), mask.sizes());
  const Tensor own = ops::expand(self, shape, false).reshape(infer::at_least_1d(shape));
  const Tensor at = ops::expand(mask, shape, false).reshape(infer::at_least_1d(shape));
  if (self.device().is_meta()) {  // without values, any of the source's may be anywhere
    if (source.numel() == 0) return ops::clone(own, MemoryFormat::contiguous).reshape(shape);
    return in_order(ops::where(at, ops::select(flattened(source), 0, 0), own)).reshape(shape);
  }
  const int64_t count = count_of(ops::_nonzero_count(at));
  MT_CHECK(source.numel() >= count, "Number of elements of source < number of ones in mask");
  const Tensor values = ops::slice(flattened(source), 0, 0, count, 1);
  return ops::index_put(flattened(own), {{flattened(at)}}, values, false).reshape(shape);
}

Tensor repeat_runs(const Tensor& repeats, std::optional<int64_t> output_size) {
  MT_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  if (repeats.numel() == 0) return ops::zeros(Dims{0}, {repeats.dtype(), repeats.device()});
  const int64_t size =
      output_size ? *output_size : count_of(ops::sum(repeats, DimList(), false, DType::int64));
  return ops::_repeat_runs(repeats, size);
}

Tensor repeat_interleave(const Tensor& self, int64_t repeats, std::optional<int64_t> dim,
                         std::optional<int64_t> output_size) {
  MT_CHECK(repeats >= 0, "Repeats must be non-negative");
  const Tensor own = dim ? self : flattened(self);
  const int64_t d = wrap_dim(dim.value_or(0), own.dim());
  if (own.dim() == 0) return repeat_interleave(ops::unsqueeze(own, 0), repeats, 0, output_size);
  int64_t length;
  MT_CHECK(!__builtin_mul_overflow(own.sizes()[size_t(d)], repeats, &length), "repeat_interleave: ", repeats,
           " repetitions of ", own.sizes()[size_t(d)], " elements are more than a tensor can have");
  MT_CHECK(!output_size || *output_size == length, "repeat_interleave: Invalid output_size, expected ",
           length, " but got ", output_size.value_or(0));
  Dims shape(own.sizes());
  shape.insert(size_t(d) + 1, repeats);
  const Tensor copies = ops::expand(ops::unsqueeze(own, d + 1), shape, false);
  Dims merged(own.sizes());
  merged[size_t(d)] = length;
  return ops::clone(copies, MemoryFormat::contiguous).reshape(merged);
}

Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim,
                         std::optional<int64_t> output_size) {
  const Tensor own = dim ? (self.dim() == 0 ? ops::unsqueeze(self, 0) : self) : flattened(self);
  const int64_t d = wrap_dim(dim.value_or(0), own.dim()), length = own.sizes()[size_t(d)];
  MT_CHECK(repeats.dim() <= 1, "repeats must be 0-dim or 1-dim tensor");
  Tensor each = repeats;
  if (repeats.numel() == 1) {
    each = ops::expand(flattened(repeats), Dims{length}, false);
  } else {
    MT_CHECK(repeats.sizes()[0] == length,
             "repeats must have the same size as input along dim, but got repeats.size(0) = ",
             repeats.sizes()[0], " and input.size(", d, ") = ", length);
  }
  return ops::index_select(own, d, ops::repeat_interleave(each, output_size));
}

std::vector<Tensor> nonzero_tuple(const Tensor& condition) {
  return ops::unbind(ops::nonzero(condition.dim() == 0 ? ops::unsqueeze(condition, 0) : condition), 1);
}

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  MT_CHECK(mask.dtype() == DType::boolean,
           "masked_fill_ only supports boolean masks, but got mask with dtype ", c_name(mask.dtype()));
  Tensor number = ops::empty(IntList(), std::nullopt, {self.dtype(), self.device()});
  ops::fill_(number, value);
  return in_order(ops::where(mask, number, self));
}

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value) {
  MT_CHECK(value.dim() == 0, "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
           value.dim(), " dimension(s).");
  MT_CHECK(mask.dtype() == DType::boolean,
           "masked_fill_ only supports boolean masks, but got mask with dtype ", c_name(mask.dtype()));
  // A number that loses its fraction or its imaginary part is one that Python gave, with what is said of those.
  if (info(value.dtype()).category > info(self.dtype()).category && value.device().is_cpu())
    return masked_fill(self, mask, item(value));
  const bool same = value.dtype() == self.dtype() && value.device() == self.device();
  const Tensor number = same ? value : ops::_to_copy(value, self.dtype(), self.device());
  return in_order(ops::where(mask, number, self));
}

Tensor where(const Tensor& condition, const Scalar& self, const Scalar& other) {
  auto number = [&](const Scalar& value) {
    Tensor t =
        ops::empty(IntList(), std::nullopt, {value.natural_dtype(default_dtype()), condition.device()});
    ops::fill_(t, value);
    t.impl()->wrapped_number = true;
    return t;
  };
  return ops::where(condition, number(self), number(other));
}

Tensor where(const Tensor& condition, const Tensor& self, const Scalar& other) {
  return ops::where(condition, self, number_beside(other, self));
}
Tensor where(const Tensor& condition, const Scalar& self, const Tensor& other) {
  return ops::where(condition, number_beside(self, other), other);
}

}  // namespace mt::composites
