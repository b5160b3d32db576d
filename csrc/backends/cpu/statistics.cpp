#include "generated/cpu/statistics.h"

#include "backends/cpu/kept_view.h"
#include "backends/cpu/kernel_view.h"
#include "infer/infer.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "kernels/reduce/functors.h"
#include "kernels/reduce/reduce.h"
#include "kernels/statistics/moments.h"

namespace mt::cpu {
namespace {

// A complex tensor as real numbers, with one more dimension for the two parts.
Tensor as_real(const Tensor& t) {
  Dims sizes(t.sizes()), strides(t.strides());
  for (int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  return tensor_over(t.storage_ref(), real_type(t.dtype()), sizes, strides, t.offset() * 2);
}

DimList wrapped(const Tensor& self, const DimList& dim) {
  Dims dims;
  const uint64_t mask = infer::dim_mask(dim, self.dim());
  for (int64_t d = 0; d < self.dim(); ++d)
    if (mask >> d & 1) dims.push_back(d);
  return dims;
}

void spread(const Tensor& self, const DimList& dim, const std::optional<Scalar>& correction,
            const Tensor& out, const Tensor* mean, bool root) {
  const double less = correction.value_or(Scalar(1)).to<double>();
  if (!is_complex(self.dtype())) {
    const KeptView variance(self, dim, out), center(self, dim, mean ? *mean : out);
    return kernels::moments(view(self), variance.view, mean ? &center.view : nullptr, less, root);
  }
  // The variance of a complex number is the sum of its parts' variances.
  const Tensor parts = as_real(self);
  Dims shape(out.sizes());
  shape.push_back(2);
  const Tensor both = new_tensor(shape, out.dtype(), out.device());
  const DimList dims = wrapped(self, dim);
  if (self.dim() == 0 || dims.all()) {  // a 0-dim number: its deviation is that of one element
    const Tensor flat =
        tensor_over(parts.storage_ref(), parts.dtype(), Dims{1, 2}, Dims{2, 1}, parts.offset());
    const KeptView variance(flat, DimList(0), both);
    const Tensor means = mean ? as_real(*mean) : both;
    const KeptView center(flat, DimList(0), means);
    kernels::moments(view(flat), variance.view, mean ? &center.view : nullptr, less, false);
  } else {
    const KeptView variance(parts, dims, both);
    const Tensor means = mean ? as_real(*mean) : both;
    const KeptView center(parts, dims, means);
    kernels::moments(view(parts), variance.view, mean ? &center.view : nullptr, less, false);
  }
  reduce_over(kernels::reduce<kernels::sum_op>, both, DimList(-1), out);
  if (root) kernels::unary<kernels::sqrt_op>(view(out), view(out), nullptr);
}

}  // namespace

void var(const Tensor& self, const DimList& dim, const std::optional<Scalar>& correction, bool,
         const Tensor& out) {
  spread(self, dim, correction, out, nullptr, false);
}
void std_dev(const Tensor& self, const DimList& dim, const std::optional<Scalar>& correction, bool,
             const Tensor& out) {
  spread(self, dim, correction, out, nullptr, true);
}
void var_mean(const Tensor& self, const DimList& dim, const std::optional<Scalar>& correction, bool,
              const Tensor& out, const Tensor& mean) {
  spread(self, dim, correction, out, &mean, false);
}
void std_mean(const Tensor& self, const DimList& dim, const std::optional<Scalar>& correction, bool,
              const Tensor& out, const Tensor& mean) {
  spread(self, dim, correction, out, &mean, true);
}

}  // namespace mt::cpu
