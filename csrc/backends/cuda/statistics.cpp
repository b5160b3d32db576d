#include "generated/cuda/statistics.h"

#include "backends/cuda/reduce.h"
#include "core/views.h"
#include "infer/infer.h"
#include "kernels/elementwise/functors.h"
#include "kernels/reduce/functors.h"

namespace mt::cuda {
namespace {

// Of device/reduce.h.
constexpr Functor kVariance{"spread_op<false>", "mt::cuda::", 0, kernels::domains::floating};
constexpr Functor kDeviation{"spread_op<true>", "mt::cuda::", 0, kernels::domains::floating};

void variance(const char* name, const Tensor& self, const DimList& dim, double correction, bool root,
              const Tensor& out) {
  static Variants plain, rooted;
  if (root) run_reduce(kDeviation, true, rooted, name, self, dim, out, correction);
  else run_reduce(kVariance, true, plain, name, self, dim, out, correction);
}

// The variance of a complex number is the sum of its parts' variances.
void complex_variance(const char* name, const Tensor& self, const DimList& dim, double correction, bool root,
                      const Tensor& out) {
  Dims shape(out.sizes()), folded;
  shape.push_back(2);
  const Tensor both = new_tensor(shape, out.dtype(), out.device());
  if (self.dim() == 0) {  // its deviation is that of one element
    variance(name, views::view_as_real(views::unsqueeze(self, 0)), DimList(0), correction, false, both);
  } else {
    const uint64_t mask = infer::dim_mask(dim, self.dim());
    for (int64_t d = 0; d < self.dim(); ++d)
      if (mask >> d & 1) folded.push_back(d);
    variance(name, views::view_as_real(self), DimList(folded), correction, false, both);
  }
  static Variants sums, roots;
  run_reduce(functor_of<kernels::sum_op>, true, sums, name, both, DimList(-1), out);
  if (root) run_unary(functor_of<kernels::sqrt_op>, roots, name, out, out, nullptr, false);
}

void spread(const char* name, const Tensor& self, const DimList& dim, const std::optional<Scalar>& correction,
            bool root, const Tensor& out) {
  const double less = correction.value_or(Scalar(1)).to<double>();
  if (is_complex(self.dtype())) complex_variance(name, self, dim, less, root, out);
  else variance(name, self, dim, less, root, out);
}

void mean_of(const char* name, const Tensor& self, const DimList& dim, const Tensor& mean) {
  static Variants variants;
  run_reduce(functor_of<kernels::mean_op>, true, variants, name, self, dim, mean);
}

}  // namespace

void var(const Tensor& self, const DimList& dim, const std::optional<Scalar>& correction, bool,
         const Tensor& out) {
  spread("var", self, dim, correction, false, out);
}
void std_dev(const Tensor& self, const DimList& dim, const std::optional<Scalar>& correction, bool,
             const Tensor& out) {
  spread("std", self, dim, correction, true, out);
}
void var_mean(const Tensor& self, const DimList& dim, const std::optional<Scalar>& correction, bool,
              const Tensor& out, const Tensor& mean) {
  spread("var_mean", self, dim, correction, false, out);
  mean_of("var_mean", self, dim, mean);
}
void std_mean(const Tensor& self, const DimList& dim, const std::optional<Scalar>& correction, bool,
              const Tensor& out, const Tensor& mean) {
  spread("std_mean", self, dim, correction, true, out);
  mean_of("std_mean", self, dim, mean);
}

}  // namespace mt::cuda
