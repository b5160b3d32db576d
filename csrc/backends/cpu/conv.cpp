// Tensors of one to three spatial dimensions are seen with three.
#include "generated/cpu/conv.h"

#include <array>

#include "backends/cpu/kernel_view.h"
#include "kernels/conv/conv.h"

namespace mt::cpu {
namespace {

struct FiveDims {
  int64_t sizes[5], strides[5];
  kernels::View view;

  explicit FiveDims(const Tensor& t) : view{memory(t), sizes, strides, 5, t.dtype()} {
    const size_t missing = 5 - size_t(t.dim());
    for (size_t i = 0; i < 5; ++i) {
      const bool absent = i >= 2 && i < 2 + missing;
      const size_t from = i < 2 ? i : i - missing;
      sizes[i] = absent ? 1 : t.sizes()[from];
      strides[i] = absent ? 0 : t.strides()[from];
    }
  }
};

std::array<int64_t, 3> three(IntList list, int64_t fill) {
  std::array<int64_t, 3> result{fill, fill, fill};
  std::copy(list.begin(), list.end(), result.end() - std::ptrdiff_t(list.size()));
  return result;
}

kernels::ConvOptions options(IntList stride, IntList padding, IntList dilation, int64_t groups) {
  return {three(stride, 1), three(padding, 0), three(dilation, 1), groups};
}

}  // namespace

void convolve(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
              IntList dilation, int64_t groups, const Tensor& out) {
  const kernels::View shift = bias.defined() ? view(bias) : kernels::View{};
  kernels::convolve(FiveDims(input).view, FiveDims(weight).view, bias.defined() ? &shift : nullptr,
                    FiveDims(out).view, options(stride, padding, dilation, groups));
}

void convolve_transposed(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList,
                         IntList stride, IntList padding, IntList dilation, int64_t groups,
                         const Tensor& out) {
  const kernels::View shift = bias.defined() ? view(bias) : kernels::View{};
  kernels::convolve_transposed(FiveDims(input).view, FiveDims(weight).view, bias.defined() ? &shift : nullptr,
                               FiveDims(out).view, options(stride, padding, dilation, groups));
}

void convolve_weight(const Tensor& input, const Tensor& grad_output, IntList, IntList stride, IntList padding,
                     IntList dilation, int64_t groups, const Tensor& out) {
  kernels::convolve_weight(FiveDims(input).view, FiveDims(grad_output).view, FiveDims(out).view,
                           options(stride, padding, dilation, groups));
}

}  // namespace mt::cpu
