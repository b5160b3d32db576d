// Shape operators in terms of others.
#include "core/views.h"
#include "generated/ops/ops.h"
#include "infer/infer.h"

namespace mt::composite {

Tensor reshape(const Tensor& self, IntList shape) {
  const Dims size = views::infer_size(shape, self.numel());
  if (views::view_strides(self, size)) return ops::view(self, size);
  return ops::view(ops::clone(self, MemoryFormat::contiguous), size);
}

Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  const int64_t first = wrap_dim(start_dim, self.dim()), last = wrap_dim(end_dim, self.dim());
  MT_CHECK(first <= last, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (self.dim() == 0) return self.reshape(Dims{1});
  if (first == last) return self;
  Dims shape;
  int64_t joined = 1;
  for (int64_t i = 0; i < self.dim(); ++i) {
    const int64_t size = self.sizes()[size_t(i)];
    if (i < first || i > last) shape.push_back(size);
    else joined *= size;
    if (i == last) shape.push_back(joined);
  }
  return self.reshape(shape);
}

Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  MT_CHECK(self.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  MT_CHECK(length >= 0, "narrow(): length must be non-negative.");
  const int64_t size = self.size(dim);
  MT_CHECK_AS(index, start >= -size && start <= size, "start out of range (expected to be in range of [",
              -size, ", ", size, "], but got ", start, ")");
  if (start < 0) start += size;
  MT_CHECK(length <= size - start, "start (", start, ") + length (", length, ") exceeds dimension size (",
           size, ").");
  return ops::slice(self, dim, start, start + length, 1);
}

Tensor contiguous(const Tensor& self, std::optional<MemoryFormat> format) {
  MT_CHECK(format != MemoryFormat::preserve,
           "preserve memory format is unsupported by the contiguous operator");
  return self.is_contiguous(*format) ? self : ops::clone(self, format);
}

std::vector<Tensor> unbind(const Tensor& self, int64_t dim) {
  MT_CHECK(self.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  std::vector<Tensor> out;
  for (int64_t i = 0; i < self.size(dim); ++i) out.push_back(ops::select(self, dim, i));
  return out;
}

std::vector<Tensor> split_with_sizes(const Tensor& self, IntList split_size, int64_t dim) {
  MT_CHECK(self.dim() > 0, "split expects at least a 1-dimensional tensor");
  int64_t total = 0;
  bool overflow = false;
  for (int64_t length : split_size) {
    MT_CHECK(length >= 0,
             "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=",
             to_string(split_size));
    overflow |= __builtin_add_overflow(total, length, &total);
  }
  MT_CHECK(!overflow && total == self.size(dim), "split_with_sizes expects split_sizes to sum exactly to ",
           self.size(dim), " (input tensor's size at dimension ", dim,
           "), but got split_sizes=", to_string(split_size));
  std::vector<Tensor> out;
  int64_t at = 0;
  for (int64_t length : split_size) {
    out.push_back(ops::slice(self, dim, at, at + length, 1));
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
    out.push_back(ops::slice(self, dim, at, at + length, 1));
    at += length;
  } while (at < size);
  return out;
}

std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  MT_CHECK(self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  MT_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  const int64_t size = self.size(dim), each = size / chunks + (size % chunks != 0);
  if (each == 0) return split_with_sizes(self, Dims(size_t(chunks), 0), dim);
  return split(self, each, dim);
}

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

}  // namespace mt::composite
