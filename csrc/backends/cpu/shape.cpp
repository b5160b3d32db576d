#include "generated/cpu/shape.h"

#include <array>

#include "backends/cpu/kernel_view.h"
#include "core/views.h"
#include "infer/spatial.h"
#include "kernels/common/accumulate.h"
#include "kernels/creation/creation.h"
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

void cat(TensorList tensors, int64_t dim, const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t d = wrap_dim(dim, out.dim());
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    if (t.dim() == 1 && t.numel() == 0 && out.dim() != 1) continue;
    const int64_t length = t.sizes()[size_t(d)];
    kernels::copy(view(t), view(views::slice(out, d, at, at + length, 1)));
    at += length;
  }
}

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
