// Windows in terms of other windows.
#include "generated/ops/composites/view.h"

#include "core/views.h"
#include "generated/ops/copy.h"
#include "generated/ops/view.h"

namespace mt::composites {
namespace {

constexpr int64_t kMostPieces = int64_t(1)
                                << 27;  // more fill the memory of any machine before they are of use

// The length of the chunks. There are as many as asked for, of length 0, if there is nothing to cut.
int64_t chunk_length(const Tensor& self, int64_t chunks, int64_t dim) {
  MT_CHECK(self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  MT_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  const int64_t size = self.size(dim);
  MT_CHECK(size > 0 || chunks <= kMostPieces,
           "chunk of a dimension of size 0 gives `chunks` empty tensors, got ", chunks,
           ", which is more than the ", kMostPieces, " that can be made");
  return size / chunks + (size % chunks != 0);
}

}  // namespace

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
  if (self.is_contiguous(format == MemoryFormat::preserve ? MemoryFormat::contiguous : *format)) return self;
  MT_CHECK(format != MemoryFormat::preserve,
           "preserve memory format is unsupported by the contiguous operator");
  return ops::clone(self, format);
}

std::vector<Tensor> split_with_sizes(const Tensor& self, IntList split_size, int64_t dim) {
  return ops::split_with_sizes(self, split_size, dim);
}

std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  const int64_t length = chunk_length(self, chunks, dim);
  if (length == 0) return ops::split_with_sizes(self, Dims(size_t(chunks), 0), dim);
  return ops::split(self, length, dim);
}

std::vector<Tensor> unsafe_chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  const int64_t length = chunk_length(self, chunks, dim);
  if (length == 0) return ops::unsafe_split_with_sizes(self, Dims(size_t(chunks), 0), dim);
  return ops::unsafe_split(self, length, dim);
}

Tensor broadcast_to(const Tensor& self, IntList size) { return ops::expand(self, size, false); }
Tensor view_as(const Tensor& self, const Tensor& other) { return ops::view(self, other.sizes()); }
Tensor expand_as(const Tensor& self, const Tensor& other) { return ops::expand(self, other.sizes(), false); }
Tensor reshape_as(const Tensor& self, const Tensor& other) { return self.reshape(other.sizes()); }
Tensor ravel(const Tensor& self) {
  return ops::view(self.is_contiguous() ? self : ops::contiguous(self, MemoryFormat::contiguous), Dims{-1});
}

Tensor unflatten(const Tensor& self, int64_t dim, IntList sizes) {
  const size_t d = size_t(wrap_dim(dim, self.dim()));
  MT_CHECK(!sizes.empty(), "unflatten: sizes must be non-empty");
  MT_CHECK(self.dim() > 0, "unflatten: a tensor without dimensions has none to unflatten");
  Dims parts(sizes);
  int64_t known = 1, hole = -1;
  for (size_t i = 0; i < parts.size(); ++i) {
    MT_CHECK(parts[i] >= -1, "invalid shape dimension ", parts[i]);
    if (parts[i] == -1) {
      MT_CHECK(hole < 0, "only one dimension can be inferred");
      hole = int64_t(i);
    } else {
      MT_CHECK(!__builtin_mul_overflow(known, parts[i], &known), "unflatten: sizes ", to_string(sizes),
               " are too large");
    }
  }
  const int64_t size = self.sizes()[d];
  const bool fits = hole < 0 ? known == size : known != 0 && size % known == 0;
  MT_CHECK(fits, "unflatten: Provided sizes ", to_string(sizes), " don't multiply up to the size of dim ", d,
           " (", size, ") in the input tensor");
  if (hole >= 0) parts[size_t(hole)] = size / known;
  Dims shape(self.sizes().first(d));
  for (int64_t part : parts) shape.push_back(part);
  for (int64_t rest : self.sizes().subspan(d + 1)) shape.push_back(rest);
  return ops::view(self, shape);
}

Tensor movedim(const Tensor& self, IntList source, IntList destination) {
  const int64_t n = self.dim();
  MT_CHECK(source.size() == destination.size(), "movedim: Invalid source or destination dims: source (",
           to_string(source), " dims) should contain the same number of dims as destination (",
           to_string(destination), " dims)");
  Dims order(size_t(n), -1);
  uint64_t moved = 0, taken = 0;
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t from = wrap_dim(source[i], n), to = wrap_dim(destination[i], n);
    MT_CHECK(!(moved >> from & 1), "movedim: repeated dim in `source` (", to_string(source), ")");
    MT_CHECK(!(taken >> to & 1), "movedim: repeated dim in `destination` (", to_string(destination), ")");
    moved |= uint64_t(1) << from, taken |= uint64_t(1) << to;
    if (n > 0) order[size_t(to)] = from;
  }
  if (n == 0) return ops::alias(self);
  int64_t next = 0;
  for (int64_t& d : order) {
    if (d >= 0) continue;
    while (moved >> next & 1) ++next;
    d = next++;
  }
  return ops::permute(self, order);
}
Tensor movedim(const Tensor& self, int64_t source, int64_t destination) {
  return movedim(self, IntList(&source, 1), IntList(&destination, 1));
}

}  // namespace mt::composites
