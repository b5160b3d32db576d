#include "core/views.h"

#include <algorithm>

#include "core/copy_on_write.h"

namespace mt::views {
namespace {

// A contiguous window of `ndim` dims on all of self's elements; the caller fills in sizes and strides.
Tensor blank_window(const Tensor& self, size_t ndim) {
  Tensor out = tensor_over(self.storage_ref(), self.dtype(), ndim);
  out.impl()->offset = self.offset();
  out.impl()->numel = self.numel();
  if (self.impl()->own_version) [[unlikely]] {
    out.impl()->own_version = self.impl()->own_version;
    out.impl()->version = self.impl()->version;
  }
  return out;
}

}  // namespace

bool is_dense(const Tensor& t) {
  if (t.is_contiguous()) return true;
  SmallVector<uint8_t, 8> order;
  for (uint8_t d = 0; d < t.dim(); ++d)
    if (t.sizes()[d] != 1) order.push_back(d);
  std::sort(order.begin(), order.end(),
            [&](uint8_t a, uint8_t b) { return t.strides()[a] < t.strides()[b]; });
  int64_t expected = 1;
  for (uint8_t d : order) {
    if (t.strides()[d] != expected) return false;
    expected *= t.sizes()[d];
  }
  return true;
}

Tensor window(const Tensor& self, IntList sizes, IntList strides, int64_t offset) {
  Tensor out = tensor_over(self.storage_ref(), self.dtype(), sizes, strides, offset);
  if (self.impl()->own_version) [[unlikely]] {
    out.impl()->own_version = self.impl()->own_version;
    out.impl()->version = self.impl()->version;
  }
  return out;
}

Tensor alias(const Tensor& self) { return shallow_copy(self); }

Tensor lazy_clone(const Tensor& self) {
  return tensor_over(mt::lazy_clone(self.storage()), self.dtype(), self.sizes(), self.strides(),
                     self.offset());
}

void infer_size_into(IntList shape, int64_t numel, int64_t* out) {
  int64_t known = 1, hole = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    out[i] = shape[i];
    if (shape[i] >= 0) [[likely]] {
      MT_CHECK(!__builtin_mul_overflow(known, shape[i], &known), "shape '", to_string(shape),
               "' is too large");
    } else {
      MT_CHECK(shape[i] == -1, "invalid shape dimension ", shape[i], " at index ", i, " of shape ",
               to_string(shape));
      MT_CHECK(hole < 0, "only one dimension can be inferred");
      hole = int64_t(i);
    }
  }
  if (hole < 0 && known == numel) [[likely]]
    return;
  if (hole >= 0) {
    MT_CHECK(known != 0 || numel != 0, "cannot reshape tensor of ", numel, " elements into shape ",
             to_string(shape),
             " because the unspecified dimension size -1 can be any value and is ambiguous");
    if (known != 0 && numel % known == 0) {
      out[hole] = numel / known;
      return;
    }
  }
  fail(ErrorKind::runtime, "shape '", to_string(shape), "' is invalid for input of size ", numel);
}

Dims infer_size(IntList shape, int64_t numel) {
  Dims out(shape.size());
  infer_size_into(shape, numel, out.data());
  return out;
}

std::optional<Dims> view_strides(const Tensor& self, IntList shape) {
  Dims strides(shape.size());
  if (self.numel() == 0 || self.is_contiguous()) {
    contiguous_strides(shape, strides.data());
    return strides;
  }
  // Walk both shapes from the right. Old dims that continue each other in memory form one run; the new
  // dims must tile each run exactly.
  int64_t next = int64_t(shape.size()) - 1;
  int64_t run = 1, step = self.strides()[size_t(self.dim() - 1)];
  for (int64_t d = self.dim() - 1; d >= 0; --d) {
    const size_t i = size_t(d);
    run *= self.sizes()[i];
    const bool last = d == 0;
    if (!last && (self.sizes()[i - 1] == 1 || self.strides()[i - 1] == run * step)) continue;
    int64_t tiled = 1;
    while (next >= 0 && (tiled < run || shape[size_t(next)] == 1)) {
      strides[size_t(next)] = tiled * step;
      tiled *= shape[size_t(next)];
      --next;
    }
    if (tiled != run) return std::nullopt;
    if (!last) {
      run = 1;
      step = self.strides()[i - 1];
    }
  }
  return next < 0 ? std::optional(strides) : std::nullopt;
}

Tensor view(const Tensor& self, IntList size) {
  if (self.is_contiguous()) [[likely]] {
    Tensor out = blank_window(self, size.size());
    infer_size_into(size, self.numel(), out.impl()->sizes());
    contiguous_strides(out.sizes(), out.impl()->strides());
    return out;
  }
  const Dims shape = infer_size(size, self.numel());
  const auto strides = view_strides(self, shape);
  MT_CHECK(strides,
           "view size is not compatible with input tensor's size and stride (at least one dimension spans "
           "across two contiguous subspaces). Use .reshape(...) instead.");
  return window(self, shape, *strides, self.offset());
}

Tensor view_as_dtype(const Tensor& self, DType dtype) {
  const int64_t had = int64_t(self.itemsize()), has = int64_t(itemsize(dtype));
  Dims sizes(self.sizes()), strides(self.strides());
  int64_t offset = self.offset();
  if (had != has) {
    const size_t n = sizes.size();
    MT_CHECK(n > 0, "self.dim() cannot be 0 to view ", info(self.dtype()).legacy, " as ", info(dtype).legacy,
             " (different element sizes)");
    MT_CHECK(strides[n - 1] == 1, "self.stride(-1) must be 1 to view ", info(self.dtype()).legacy, " as ",
             info(dtype).legacy, " (different element sizes), but got ", strides[n - 1]);
    const int64_t ratio = std::max(had, has) / std::min(had, has);
    if (had > has) {
      for (size_t i = 0; i + 1 < n; ++i) strides[i] *= ratio;
      sizes[n - 1] *= ratio;
      offset *= ratio;
    } else {
      MT_CHECK(sizes[n - 1] % ratio == 0, "self.size(-1) must be divisible by ", ratio, " to view ",
               info(self.dtype()).legacy, " as ", info(dtype).legacy, " (different element sizes), but got ",
               sizes[n - 1]);
      MT_CHECK(offset % ratio == 0, "self.storage_offset() must be divisible by ", ratio, " to view ",
               info(self.dtype()).legacy, " as ", info(dtype).legacy, " (different element sizes), but got ",
               offset);
      for (size_t i = 0; i + 1 < n; ++i) {
        MT_CHECK(strides[i] % ratio == 0, "self.stride(", i, ") must be divisible by ", ratio, " to view ",
                 info(self.dtype()).legacy, " as ", info(dtype).legacy,
                 " (different element sizes), but got ", strides[i]);
        strides[i] /= ratio;
      }
      sizes[n - 1] /= ratio;
      offset /= ratio;
    }
  }
  Tensor out = window(self, sizes, strides, offset);
  out.impl()->dtype = dtype;
  return out;
}

Tensor permute(const Tensor& self, IntList dims) {
  const size_t n = size_t(self.dim());
  MT_CHECK(dims.size() == n,
           "permute(sparse_coo): number of dimensions in the tensor input does not match the length "
           "of the desired ordering of dimensions i.e. input.dim() = ",
           n, " is not equal to len(dims) = ", dims.size());
  Dims sizes(n), strides(n);
  uint64_t seen = 0;
  for (size_t i = 0; i < n; ++i) {
    const size_t d = size_t(wrap_dim(dims[i], int64_t(n)));
    MT_CHECK(!(seen >> d & 1), "permute(): duplicate dims are not allowed.");
    seen |= uint64_t(1) << d;
    sizes[i] = self.sizes()[d];
    strides[i] = self.strides()[d];
  }
  return window(self, sizes, strides, self.offset());
}

Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  const int64_t a = wrap_dim(dim0, self.dim()), b = wrap_dim(dim1, self.dim());
  Tensor out = alias(self);
  if (a == b) return out;
  std::swap(out.impl()->sizes()[a], out.impl()->sizes()[b]);
  std::swap(out.impl()->strides()[a], out.impl()->strides()[b]);
  out.impl()->refresh();
  return out;
}

Tensor t(const Tensor& self) {
  MT_CHECK(self.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", self.dim(), "D");
  return self.dim() < 2 ? alias(self) : transpose(self, 0, 1);
}

Tensor expand(const Tensor& self, IntList size, bool) {
  const int64_t n = int64_t(size.size()), lead = n - self.dim();
  MT_CHECK(lead >= 0, "expand(torch.", info(self.dtype()).legacy, "Tensor{", to_string(self.sizes()),
           "}, size=", to_string(size), "): the number of sizes provided (", n,
           ") must be greater or equal to the number of dimensions in the tensor (", self.dim(), ")");
  Dims sizes(size), strides(size.size());
  for (int64_t i = n - 1; i >= 0; --i) {  // the last dimension that does not fit is named
    const bool fresh = i < lead;
    const int64_t had = fresh ? 1 : self.sizes()[size_t(i - lead)];
    int64_t& want = sizes[size_t(i)];
    if (want == -1) {
      MT_CHECK(!fresh,
               "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension ", i);
      want = had;
    }
    MT_CHECK(want >= 0, "The expanded size of the tensor (", want, ") isn't allowed to be negative");
    MT_CHECK(want == had || had == 1, "The expanded size of the tensor (", want,
             ") must match the existing size (", had, ") at non-singleton dimension ", i,
             ".  Target sizes: ", to_string(size), ".  Tensor sizes: ", to_string(self.sizes()));
    const size_t at = size_t(i);
    if (had == 1 && want != 1) strides[at] = 0;
    else if (!fresh) strides[at] = self.strides()[size_t(i - lead)];
    else strides[at] = i == n - 1 ? 1 : sizes[at + 1] * strides[at + 1];  // what unsqueeze gives
  }
  checked_numel(sizes);
  return window(self, sizes, strides, self.offset());
}

Tensor squeeze(const Tensor& self) {
  Dims sizes, strides;
  for (size_t i = 0; i < size_t(self.dim()); ++i)
    if (self.sizes()[i] != 1) sizes.push_back(self.sizes()[i]), strides.push_back(self.strides()[i]);
  return window(self, sizes, strides, self.offset());
}

Tensor squeeze(const Tensor& self, int64_t dim) {
  const size_t d = size_t(wrap_dim(dim, self.dim()));
  if (self.dim() == 0 || self.sizes()[d] != 1) return alias(self);
  Dims sizes(self.sizes()), strides(self.strides());
  sizes.erase(d), strides.erase(d);
  return window(self, sizes, strides, self.offset());
}

Tensor squeeze(const Tensor& self, IntList dims) {
  uint64_t mask = 0;
  for (int64_t dim : dims) {
    const int64_t d = wrap_dim(dim, self.dim());
    MT_CHECK(!(mask >> d & 1), "dim ", d, " appears multiple times in the list of dims");
    mask |= uint64_t(1) << d;
  }
  Dims sizes, strides;
  for (size_t i = 0; i < size_t(self.dim()); ++i) {
    if ((mask >> i & 1) && self.sizes()[i] == 1) continue;
    sizes.push_back(self.sizes()[i]), strides.push_back(self.strides()[i]);
  }
  return window(self, sizes, strides, self.offset());
}

Tensor unsqueeze(const Tensor& self, int64_t dim) {
  const size_t d = size_t(wrap_dim(dim, self.dim() + 1));
  Dims sizes(self.sizes()), strides(self.strides());
  const int64_t stride = d < sizes.size() ? sizes[d] * strides[d] : 1;
  sizes.insert(d, 1), strides.insert(d, stride);
  return window(self, sizes, strides, self.offset());
}

Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  MT_CHECK_AS(index, self.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  const size_t d = size_t(wrap_dim(dim, self.dim()));
  const int64_t size = self.sizes()[d];
  MT_CHECK_AS(index, index >= -size && index < size, "select(): index ", index,
              " out of range for tensor of size ", to_string(self.sizes()), " at dimension ", dim);
  // Written into the new tensor at once: x[i] is the most common view of all.
  const size_t ndim = size_t(self.dim());
  Tensor out = blank_window(self, ndim - 1);
  TensorImpl* impl = out.impl();
  const int64_t *sizes = self.impl()->sizes(), *strides = self.impl()->strides();
  int64_t *to_sizes = impl->sizes(), *to_strides = impl->strides();
  for (size_t from = 0, to = 0; from < ndim; ++from) {
    if (from == d) continue;
    to_sizes[to] = sizes[from];
    to_strides[to++] = strides[from];
  }
  impl->offset += (index < 0 ? index + size : index) * strides[d];
  if (d == 0 && self.is_contiguous()) impl->numel /= size;
  else impl->refresh();
  return out;
}

Tensor slice(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
             int64_t step) {
  MT_CHECK_AS(index, self.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  MT_CHECK_AS(value, step > 0, "slice step must be positive");
  const size_t d = size_t(wrap_dim(dim, self.dim()));
  const int64_t size = self.sizes()[d];
  auto clip = [size](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  const int64_t first = clip(start.value_or(0)), last = std::max(clip(end.value_or(size)), first);
  Dims sizes(self.sizes()), strides(self.strides());
  sizes[d] = last > first ? 1 + (last - first - 1) / step : 0;
  const int64_t offset = self.offset() + first * strides[d];
  if (sizes[d] > 1) strides[d] *= step;  // a huge step would overflow, and one element needs none
  return window(self, sizes, strides, offset);
}

std::vector<Tensor> unbind(const Tensor& self, int64_t dim) {
  MT_CHECK_AS(index, self.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  std::vector<Tensor> out;
  for (int64_t i = 0; i < self.size(dim); ++i) out.push_back(select(self, dim, i));
  return out;
}

std::vector<Tensor> split_with_sizes(const Tensor& self, IntList split_sizes, int64_t dim) {
  MT_CHECK(self.dim() > 0, "split expects at least a 1-dimensional tensor");
  int64_t total = 0;
  bool overflow = false;
  for (int64_t length : split_sizes) {
    MT_CHECK(length >= 0,
             "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=",
             to_string(split_sizes));
    overflow |= __builtin_add_overflow(total, length, &total);
  }
  MT_CHECK(!overflow && total == self.size(dim), "split_with_sizes expects split_sizes to sum exactly to ",
           self.size(dim), " (input tensor's size at dimension ", dim,
           "), but got split_sizes=", to_string(split_sizes));
  std::vector<Tensor> out;
  int64_t at = 0;
  for (int64_t length : split_sizes) {
    out.push_back(slice(self, dim, at, at + length, 1));
    at += length;
  }
  return out;
}

std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim) {
  MT_CHECK(self.dim() > 0, "split expects at least a 1-dimensional tensor");
  MT_CHECK(split_size >= 0, "split expects split_size be non-negative, but got split_size=", split_size);
  const int64_t size = self.size(dim);
  MT_CHECK(split_size > 0 || size == 0,
           "split_size can only be 0 if dimension size is 0, but got dimension size of ", size);
  std::vector<Tensor> out;
  int64_t at = 0;
  do {
    const int64_t length = std::min(split_size, size - at);
    out.push_back(slice(self, dim, at, at + length, 1));
    at += length;
  } while (at < size);
  return out;
}

Tensor as_strided(const Tensor& self, IntList size, IntList stride, std::optional<int64_t> storage_offset) {
  MT_CHECK(size.size() == stride.size(), "mismatch in length of strides and shape: got ", size.size(),
           " sizes and ", stride.size(), " strides");
  checked_numel(size);
  const int64_t offset = storage_offset.value_or(self.offset());
  MT_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
  for (const int64_t step : stride) {
    MT_CHECK(step >= 0, "as_strided: Negative strides are not supported at the moment, got strides: ",
             to_string(stride));
  }
  const int64_t room = int64_t(self.storage().nbytes / self.itemsize());
  const int64_t reach = checked_reach(size, stride, offset, self.itemsize());
  MT_CHECK(reach <= room, "setStorage: sizes ", to_string(size), ", strides ", to_string(stride),
           ", storage offset ", offset, ", and itemsize ", self.itemsize(), " requiring a storage size of ",
           reach * self.itemsize(), " are out of bounds for storage of size ", self.storage().nbytes);
  return window(self, size, stride, offset);
}

Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t a = wrap_dim(dim1, self.dim()), b = wrap_dim(dim2, self.dim());
  MT_CHECK(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  Dims sizes(self.sizes()), strides(self.strides());
  const int64_t rows = sizes[size_t(a)], columns = sizes[size_t(b)];
  offset = std::clamp(offset, -rows, columns);
  const int64_t length =
      std::max<int64_t>(offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns), 0);
  const int64_t step = strides[size_t(a)] + strides[size_t(b)];
  const int64_t start =
      length == 0 ? 0 : (offset >= 0 ? offset * strides[size_t(b)] : -offset * strides[size_t(a)]);
  sizes.erase(size_t(std::max(a, b))), strides.erase(size_t(std::max(a, b)));
  sizes.erase(size_t(std::min(a, b))), strides.erase(size_t(std::min(a, b)));
  sizes.push_back(length), strides.push_back(step);
  return window(self, sizes, strides, self.offset() + start);
}

Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  const size_t d = size_t(wrap_dim(dimension, self.dim()));
  const int64_t room = self.dim() == 0 ? 1 : self.sizes()[d];
  MT_CHECK(size >= 0, "size is ", size, " but must be >= 0");
  MT_CHECK(size <= room, "maximum size for tensor at dimension ", d, " is ", room, " but size is ", size);
  MT_CHECK(step > 0, "step is ", step, " but must be > 0");
  Dims sizes(self.sizes()), strides(self.strides());
  const int64_t stride = self.dim() == 0 ? 1 : strides[d];
  if (self.dim() > 0) {
    sizes[d] = (room - size) / step + 1;
    if (sizes[d] > 1) strides[d] *= step;  // one piece needs none, and a huge step would overflow
  }
  sizes.push_back(size), strides.push_back(stride);
  return window(self, sizes, strides, self.offset());
}

}  // namespace mt::views
