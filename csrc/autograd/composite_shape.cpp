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
  if (self.is_contiguous(format == MemoryFormat::preserve ? MemoryFormat::contiguous : *format)) return self;
  MT_CHECK(format != MemoryFormat::preserve,
           "preserve memory format is unsupported by the contiguous operator");
  return ops::clone(self, format);
}

std::vector<Tensor> split_with_sizes(const Tensor& self, IntList split_size, int64_t dim) {
  return ops::split_with_sizes(self, split_size, dim);
}

namespace {
// The length of the chunks. There are as many as asked for, of length 0, if there is nothing to cut.
int64_t chunk_length(const Tensor& self, int64_t chunks, int64_t dim) {
  MT_CHECK(self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  MT_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  const int64_t size = self.size(dim);
  return size / chunks + (size % chunks != 0);
}
}  // namespace

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

Tensor broadcast_to(const Tensor& self, IntList size) { return ops::expand(self, size, false); }
Tensor view_as(const Tensor& self, const Tensor& other) { return ops::view(self, other.sizes()); }
Tensor expand_as(const Tensor& self, const Tensor& other) { return ops::expand(self, other.sizes(), false); }
Tensor reshape_as(const Tensor& self, const Tensor& other) { return self.reshape(other.sizes()); }
Tensor ravel(const Tensor& self) { return self.reshape(Dims{-1}); }

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
    const Tensor parts[] = {ops::slice(out, d, size - shift, size, 1),
                            ops::slice(out, d, 0, size - shift, 1)};
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
  return ops::sum(ops::diagonal(self, 0, 0, 1), DimList(), false, std::nullopt);
}

Tensor diag(const Tensor& self, int64_t diagonal) {
  MT_CHECK(self.dim() == 1 || self.dim() == 2, "diag(): Supports 1D or 2D tensors. Got ", self.dim(), "D");
  if (self.dim() == 1) return ops::diag_embed(self, diagonal, 0, 1);
  return ops::clone(ops::diagonal(self, diagonal, 0, 1), MemoryFormat::contiguous);
}

Tensor _pdist(const Tensor& self, double p) { return ops::_pdist_forward(self, p); }

}  // namespace mt::composite
