// Variances, norms, hashes and running sums on the CPU.
#include "backends/cpu/view.h"
#include "core/views.h"
#include "generated/cpu/kernels.h"
#include "infer/infer.h"
#include "kernels/cumulative/cumulative.h"
#include "kernels/elementwise/elementwise_impl.h"
#include "kernels/elementwise/functors.h"
#include "kernels/reduce/norms.h"
#include "kernels/reduce/reduce_impl.h"
#include "kernels/statistics/moments.h"

namespace mt::cpu {
namespace {

// A result seen with every dimension of `self`, size 1 where reduced, as kernels expect it.
struct KeptView {
  Dims sizes, strides;
  kernels::View view;
  KeptView(const Tensor& self, const DimList& dim, const Tensor& out)
      : sizes(size_t(self.dim())), strides(size_t(self.dim())) {
    const uint64_t mask = infer::dim_mask(dim, self.dim());
    const bool kept = out.dim() == self.dim();
    for (size_t i = 0, o = 0; i < size_t(self.dim()); ++i) {
      const bool reduced = mask >> i & 1;
      sizes[i] = reduced ? 1 : self.sizes()[i];
      strides[i] = reduced ? 0 : out.strides()[o];
      o += kept || !reduced;
    }
    view = {out.data(), sizes.data(), strides.data(), int(self.dim()), out.dtype()};
  }
};

// A complex tensor as real numbers, with one more dimension for the two parts.
Tensor as_real(const Tensor& t) {
  Dims sizes(t.sizes()), strides(t.strides());
  for (int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  return tensor_over(t.storage_ref(), infer::real_dtype_of(t.dtype()), sizes, strides, t.offset() * 2);
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

void running(kernels::Running operation, const Tensor& self, int64_t dim, const Tensor& out, bool reverse) {
  const int d = int(wrap_dim(dim, self.dim()));
  kernels::cumulative(operation, view(self), view(out), d, reverse);
}

}  // namespace

void reduce_over(void (*kernel)(const kernels::View&, const kernels::View&), const Tensor& self,
                 const DimList& dim, const Tensor& out) {
  kernel(view(self), KeptView(self, dim, out).view);
}

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

void cumsum(const Tensor& self, int64_t dim, std::optional<DType>, const Tensor& out) {
  running(kernels::Running::sum, self, dim, out, false);
}
void cumprod(const Tensor& self, int64_t dim, std::optional<DType>, const Tensor& out) {
  running(kernels::Running::product, self, dim, out, false);
}
void logcumsumexp(const Tensor& self, int64_t dim, const Tensor& out) {
  running(kernels::Running::log_sum_exp, self, dim, out, false);
}
void reverse_cumsum(const Tensor& self, int64_t dim, const Tensor& out) {
  running(kernels::Running::sum, self, dim, out, true);
}
void reverse_logcumsumexp(const Tensor& self, int64_t dim, const Tensor& out) {
  running(kernels::Running::log_sum_exp, self, dim, out, true);
}

void logsumexp(const Tensor& self, const DimList& dim, bool, const Tensor& out) {
  kernels::log_sum_exp(view(self), KeptView(self, dim, out).view);
}

void vector_norm(const Tensor& self, const Scalar& ord, const DimList& dim, bool, std::optional<DType>,
                 const Tensor& out) {
  kernels::vector_norm(view(self), KeptView(self, dim, out).view, ord.to<double>());
}

void hash_tensor(const Tensor& self, const DimList& dim, bool, int64_t, const Tensor& out) {
  // The exclusive or of the elements' bits, as double or as int64.
  const Tensor wide =
      new_tensor(self.sizes(), is_floating(self.dtype()) ? DType::float64 : DType::int64, self.device());
  kernels::copy(view(self), view(wide));
  const auto as_bits = [](const Tensor& t) {
    return tensor_over(t.storage_ref(), DType::int64, t.sizes(), t.strides(), t.offset());
  };
  reduce_over(kernels::reduce<kernels::xor_op>, as_bits(wide), dim, as_bits(out));
}

}  // namespace mt::cpu
