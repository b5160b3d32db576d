// Operators that return several views of one tensor.
#include "autograd/node.h"
#include "core/views.h"
#include "generated/ops/ops.h"

namespace mt::composite {
namespace {

// The history of all parts of a tensor at once: their gradients are put together in one step. That the parts have one
// node between them is also how in-place writes to such views are told from others.
class PartsBackward final : public autograd::Node {
 public:
  PartsBackward(const char* name, bool rows, int64_t dim) : name_(name), rows_(rows), dim_(dim) {}
  const char* name() const override { return name_; }
  void apply(autograd::Grads grads, autograd::Grads out, uint64_t) override {
    std::vector<Tensor> parts;
    bool any = false;
    for (uint32_t i = 0; i < outputs; ++i) {
      any |= grads[i].defined();
      const autograd::OutputMeta& meta = output_meta(i);
      parts.push_back(grads[i].defined() ? grads[i] : ops::zeros(meta.sizes, {meta.dtype, meta.device}));
    }
    if (any) out[0] = rows_ ? ops::stack(parts, dim_) : ops::cat(parts, dim_);
  }

 private:
  const char* name_;
  bool rows_;
  int64_t dim_;
};

// Makes views of `self` known to autograd, as the results of one operator.
std::vector<Tensor> parts_of(const Tensor& self, std::vector<Tensor> parts, const char* name, bool rows,
                             int64_t dim) {
  for (const Tensor& part : parts) autograd::as_view(self, part);
  if (!autograd::any_needs_grad(self) || parts.empty()) return parts;
  PartsBackward* node;
  const autograd::NodeRef ref = autograd::new_node(node, name, rows, wrap_dim(dim, self.dim()));
  autograd::connect(node->edges, self);
  for (const Tensor& part : parts) autograd::set_history(part, node);
  return parts;
}

using Lengths = std::vector<int64_t>;

Lengths even_lengths(const Tensor& self, int64_t split_size, int64_t dim) {
  MT_CHECK(self.dim() > 0, "split expects at least a 1-dimensional tensor");
  MT_CHECK(split_size >= 0, "split expects split_size be non-negative, but got split_size=", split_size);
  const int64_t size = self.size(dim);
  MT_CHECK(split_size > 0 || size == 0,
           "split_size can only be 0 if dimension size is 0, but got dimension size of ", size);
  Lengths lengths;
  int64_t at = 0;
  do {
    lengths.push_back(std::min(split_size, size - at));
    at += lengths.back();
  } while (at < size);
  return lengths;
}

Lengths checked_lengths(const Tensor& self, IntList split_size, int64_t dim) {
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
  return Lengths(split_size.begin(), split_size.end());
}

Lengths chunk_lengths(const Tensor& self, int64_t chunks, int64_t dim) {
  MT_CHECK(self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  MT_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  const int64_t size = self.size(dim), each = size / chunks + (size % chunks != 0);
  return each == 0 ? Lengths(size_t(chunks), 0) : even_lengths(self, each, dim);
}

// One slice per length, by `slice`, one after another.
template <class Slice>
std::vector<Tensor> sliced(const Lengths& lengths, Slice slice) {
  std::vector<Tensor> out;
  int64_t at = 0;
  for (int64_t length : lengths) {
    out.push_back(slice(at, at + length));
    at += length;
  }
  return out;
}

std::vector<Tensor> views_of(const Tensor& self, const Lengths& lengths, int64_t dim, const char* name) {
  return parts_of(
      self,
      sliced(lengths, [&](int64_t start, int64_t end) { return views::slice(self, dim, start, end, 1); }),
      name, false, dim);
}

// Each with a history of its own, so that they may be written in place: what unsafe_split and its kin promise.
std::vector<Tensor> separate_slices(const Tensor& self, const Lengths& lengths, int64_t dim) {
  return sliced(lengths, [&](int64_t start, int64_t end) { return ops::slice(self, dim, start, end, 1); });
}

}  // namespace

std::vector<Tensor> unbind(const Tensor& self, int64_t dim) {
  MT_CHECK(self.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < self.size(dim); ++i) rows.push_back(views::select(self, dim, i));
  return parts_of(self, std::move(rows), "UnbindBackward0", true, dim);
}

std::vector<Tensor> split_with_sizes(const Tensor& self, IntList split_size, int64_t dim) {
  return views_of(self, checked_lengths(self, split_size, dim), dim, "SplitWithSizesBackward0");
}

std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim) {
  return views_of(self, even_lengths(self, split_size, dim), dim, "SplitBackward0");
}

std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  return views_of(self, chunk_lengths(self, chunks, dim), dim, "SplitBackward0");
}

std::vector<Tensor> unsafe_split_with_sizes(const Tensor& self, IntList split_sizes, int64_t dim) {
  return separate_slices(self, checked_lengths(self, split_sizes, dim), dim);
}

std::vector<Tensor> unsafe_split(const Tensor& self, int64_t split_size, int64_t dim) {
  return separate_slices(self, even_lengths(self, split_size, dim), dim);
}

std::vector<Tensor> unsafe_chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  return separate_slices(self, chunk_lengths(self, chunks, dim), dim);
}

}  // namespace mt::composite
