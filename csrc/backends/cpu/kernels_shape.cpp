// Shapes, padding and sliding windows: copies and sums between windows of tensors.
#include "backends/cpu/view.h"
#include "core/views.h"
#include "generated/cpu/kernels.h"
#include "infer/infer.h"
#include "kernels/accumulate.h"
#include "kernels/triangle.h"

namespace mt::cpu {
namespace {

// The tensor as kernels see it, read backwards along some dimensions.
class Mirrored {
 public:
  Mirrored(const Tensor& t, IntList dims) : strides_(t.strides()), view_(cpu::view(t)) {
    char* data = static_cast<char*>(view_.data);
    for (int64_t dim : dims) {
      if (t.dim() == 0 || t.numel() == 0) continue;
      const size_t d = size_t(wrap_dim(dim, t.dim()));
      data += (t.sizes()[d] - 1) * strides_[d] * int64_t(t.itemsize());
      strides_[d] = -strides_[d];
    }
    view_.data = data;
    view_.strides = strides_.data();
    view_.dense = -1;
  }
  Mirrored(const Mirrored&) = delete;
  Mirrored& operator=(const Mirrored&) = delete;
  const kernels::View& view() const { return view_; }

 private:
  Dims strides_;
  kernels::View view_;
};

Tensor part(const Tensor& t, int64_t dim, int64_t start, int64_t length) {
  return views::slice(t, dim, start, start + length, 1);
}

// Of a padded tensor the part that is the original; `pad` counts from the last dimension, two per dimension.
Tensor centre(const Tensor& padded, IntList sizes, IntList pad) {
  Tensor inner = padded;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const size_t d = sizes.size() - 1 - i;
    inner = part(inner, int64_t(d), pad[2 * i], sizes[d]);
  }
  return inner;
}

// Along `dim` the edges [0, before) and [before + size, …) mirror, repeat or wrap around what lies between them.
// `apply(edge, source, mirrored)` is called for each with the window its elements come from; a source of length 1
// stands for all of the edge.
template <class F>
void for_each_edge(const Tensor& t, int64_t dim, int64_t size, int64_t before, int64_t after,
                   infer::Edge mode, F&& apply) {
  for (const bool left : {true, false}) {
    const int64_t count = left ? before : after;
    if (count == 0) continue;
    const Tensor edge = part(t, dim, left ? 0 : before + size, count);
    switch (mode) {
      case infer::Edge::reflect:
        apply(edge, part(t, dim, left ? before + 1 : before + size - 1 - count, count), true);
        break;
      case infer::Edge::replicate:
        apply(edge, part(t, dim, left ? before : before + size - 1, 1), false);
        break;
      case infer::Edge::circular: apply(edge, part(t, dim, left ? size : before, count), false); break;
    }
  }
}

// [.., C * kh * kw, L] seen as [.., C, kh, kw, places, places].
Tensor column_blocks(const Tensor& columns, const infer::SlidingWindow& w) {
  Dims sizes(columns.sizes().first(size_t(columns.dim() - 2)));
  sizes.push_back(columns.size(-2) / (w.kernel[0] * w.kernel[1]));
  for (int64_t size : {w.kernel[0], w.kernel[1], w.places[0], w.places[1]}) sizes.push_back(size);
  return views::view(columns, sizes);
}

// For each place in the kernel: which places of the window lie on the image, and the pixels they see.
template <class F>
void for_each_tap(const Tensor& image, const Tensor& columns, const infer::SlidingWindow& w, F&& apply) {
  const Tensor blocks = column_blocks(columns, w);
  auto covered = [&](size_t axis, int64_t tap, int64_t& first, int64_t& last) {
    const int64_t shift = tap * w.dilation[axis] - w.padding[axis], step = w.stride[axis];
    first = shift >= 0 ? 0 : (-shift + step - 1) / step;
    last = w.image[axis] <= shift ? 0 : std::min(w.places[axis], (w.image[axis] - 1 - shift) / step + 1);
    return first < last;
  };
  for (int64_t i = 0; i < w.kernel[0]; ++i) {
    for (int64_t j = 0; j < w.kernel[1]; ++j) {
      int64_t top, bottom, left, right;
      if (!covered(0, i, top, bottom) || !covered(1, j, left, right)) continue;
      const int64_t y = top * w.stride[0] + i * w.dilation[0] - w.padding[0];
      const int64_t x = left * w.stride[1] + j * w.dilation[1] - w.padding[1];
      Tensor block = views::select(views::select(blocks, -3, j), -3, i);
      block = part(part(block, -2, top, bottom - top), -1, left, right - left);
      Tensor pixels = views::slice(image, -2, y, y + (bottom - top - 1) * w.stride[0] + 1, w.stride[0]);
      pixels = views::slice(pixels, -1, x, x + (right - left - 1) * w.stride[1] + 1, w.stride[1]);
      apply(block, pixels);
    }
  }
}

}  // namespace

void flip(const Tensor& self, IntList dims, const Tensor& out) {
  kernels::copy(Mirrored(self, dims).view(), view(out));
}

void tril(const Tensor& self, int64_t diagonal, const Tensor& out) {
  kernels::triangle(view(self), view(out), diagonal, true);
}
void triu(const Tensor& self, int64_t diagonal, const Tensor& out) {
  kernels::triangle(view(self), view(out), diagonal, false);
}

void diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2, const Tensor& out) {
  kernels::fill(view(out), 0);
  kernels::copy(view(self), view(views::diagonal(out, offset, dim1, dim2)));
}

void unfold_backward(const Tensor& grad, IntList, int64_t dim, int64_t size, int64_t step,
                     const Tensor& out) {
  kernels::fill(view(out), 0);
  kernels::add_into(view(grad), view(views::unfold(out, dim, size, step)), step < size);
}

void as_strided_sum(const Tensor& self, int64_t, IntList size, IntList stride, int64_t offset,
                    const Tensor& out) {
  kernels::fill(view(out), 0);
  if (self.numel() == 0) return;
  kernels::add_into(view(self), view(views::window(out, size, stride, out.offset() + offset)), true);
}

void constant_pad(const Tensor& self, IntList pad, const Scalar& value, const Tensor& out) {
  kernels::fill(view(out), value);
  Tensor from = self, to = out;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t d = self.dim() - 1 - int64_t(i), before = pad[2 * i], after = pad[2 * i + 1];
    const int64_t skipped = std::max<int64_t>(-before, 0), dropped = std::max<int64_t>(-after, 0);
    const int64_t length = self.sizes()[size_t(d)] - skipped - dropped;
    if (length <= 0) return;
    from = part(from, d, skipped, length);
    to = part(to, d, std::max<int64_t>(before, 0), length);
  }
  kernels::copy(view(from), view(to));
}

void extend_edges(const Tensor& self, IntList pad, int64_t mode, const Tensor& out) {
  if (out.numel() == 0) return;
  kernels::copy(view(self), view(centre(out, self.sizes(), pad)));
  // Last dimension first: each further one copies rows that are complete already.
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t d = self.dim() - 1 - int64_t(i);
    const IntList rest = pad.subspan(2 * i + 2);
    const Tensor rows = centre(out, self.sizes().first(size_t(d)), rest);
    for_each_edge(rows, d, self.sizes()[size_t(d)], pad[2 * i], pad[2 * i + 1], infer::Edge(mode),
                  [&](const Tensor& edge, const Tensor& source, bool mirrored) {
                    kernels::copy(Mirrored(source, mirrored ? IntList(&d, 1) : IntList()).view(), view(edge));
                  });
  }
}

void extend_edges_backward(const Tensor& grad, IntList pad, int64_t mode, const Tensor& out) {
  if (out.numel() == 0) return;
  // The edges are added to what they were copied from, in a copy of the gradient.
  const Tensor work = new_tensor(grad.sizes(), grad.dtype(), grad.device());
  kernels::copy(view(grad), view(work));
  for (size_t i = pad.size() / 2; i-- > 0;) {
    const int64_t d = out.dim() - 1 - int64_t(i);
    const Tensor rows = centre(work, out.sizes().first(size_t(d)), pad.subspan(2 * i + 2));
    for_each_edge(rows, d, out.sizes()[size_t(d)], pad[2 * i], pad[2 * i + 1], infer::Edge(mode),
                  [&](const Tensor& edge, const Tensor& source, bool mirrored) {
                    const bool all = source.sizes()[size_t(d)] != edge.sizes()[size_t(d)];
                    const Tensor target = all ? views::expand(source, edge.sizes(), true) : source;
                    kernels::add_into(view(edge),
                                      Mirrored(target, mirrored ? IntList(&d, 1) : IntList()).view(), all);
                  });
  }
  kernels::copy(view(centre(work, out.sizes(), pad)), view(out));
}

void im2col(const Tensor& self, IntList kernel_size, IntList dilation, IntList padding, IntList stride,
            const Tensor& out) {
  const auto w = infer::sliding_window(self.sizes().last(2), kernel_size, dilation, padding, stride);
  const Tensor columns = out.is_contiguous() ? out : new_tensor(out.sizes(), out.dtype(), out.device());
  kernels::fill(view(columns), 0);
  for_each_tap(self, columns, w,
               [](const Tensor& block, const Tensor& pixels) { kernels::copy(view(pixels), view(block)); });
  if (!columns.same(out)) kernels::copy(view(columns), view(out));
}

void col2im(const Tensor& self, IntList output_size, IntList kernel_size, IntList dilation, IntList padding,
            IntList stride, const Tensor& out) {
  const auto w = infer::sliding_window(output_size, kernel_size, dilation, padding, stride);
  Tensor columns = self;
  if (!self.is_contiguous()) {
    columns = new_tensor(self.sizes(), self.dtype(), self.device());
    kernels::copy(view(self), view(columns));
  }
  kernels::fill(view(out), 0);
  for_each_tap(out, columns, w, [](const Tensor& block, const Tensor& pixels) {
    kernels::add_into(view(block), view(pixels), false);
  });
}

}  // namespace mt::cpu
