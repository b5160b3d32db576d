// Shapes, padding and sliding windows.
#include <array>

#include "backends/cpu/view.h"
#include "core/views.h"
#include "generated/cpu/kernels.h"
#include "infer/infer.h"
#include "kernels/common/accumulate.h"
#include "kernels/padding/edges.h"
#include "kernels/shape/triangle.h"

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

kernels::SlidingWindow sliding(const infer::SlidingWindow& w) {
  return {std::to_array(w.image),   std::to_array(w.kernel), std::to_array(w.dilation),
          std::to_array(w.padding), std::to_array(w.stride), std::to_array(w.places)};
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
  kernels::constant_pad(view(self), pad, value, view(out));
}

void extend_edges(const Tensor& self, IntList pad, int64_t mode, const Tensor& out) {
  kernels::extend_edges(view(self), pad, kernels::Edge(mode), view(out));
}

void extend_edges_backward(const Tensor& grad, IntList pad, int64_t mode, const Tensor& out) {
  kernels::extend_edges_backward(view(grad), pad, kernels::Edge(mode), view(out));
}

void im2col(const Tensor& self, IntList kernel_size, IntList dilation, IntList padding, IntList stride,
            const Tensor& out) {
  const auto w = infer::sliding_window(self.sizes().last(2), kernel_size, dilation, padding, stride);
  kernels::image_to_columns(view(self), sliding(w), view(out));
}

void col2im(const Tensor& self, IntList output_size, IntList kernel_size, IntList dilation, IntList padding,
            IntList stride, const Tensor& out) {
  const auto w = infer::sliding_window(output_size, kernel_size, dilation, padding, stride);
  kernels::columns_to_image(view(self), sliding(w), view(out));
}

}  // namespace mt::cpu
