#include "generated/cpu/reduce.h"

#include "backends/cpu/kept_view.h"
#include "backends/cpu/kernel_view.h"
#include "core/views.h"
#include "kernels/elementwise/functors.h"
#include "kernels/reduce/norms.h"
#include "kernels/reduce/reduce_impl.h"

namespace mt::cpu {
namespace {

// `out` with the reduced dimension put back, whatever keepdim was.
Tensor with_dim(const Tensor& out, const Tensor& self, int dim) {
  return out.dim() == self.dim() ? out : views::unsqueeze(out, dim);
}

void arg_extremum(bool max, const Tensor& self, std::optional<int64_t> dim, const Tensor& out) {
  if (!dim) return kernels::arg_reduce(max, view(self), view(views::view(out, IntList())), -1);
  const Tensor in = at_least_1d(self);
  const int d = wrapped_dim(in, *dim);
  kernels::arg_reduce(max, view(in), view(with_dim(at_least_1d(out), in, d)), d);
}

void extremum(bool max, const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices) {
  const Tensor in = at_least_1d(self);
  const int d = wrapped_dim(in, dim);
  const Tensor v = self.dim() == 0 ? at_least_1d(values) : with_dim(values, in, d);
  const Tensor i = self.dim() == 0 ? at_least_1d(indices) : with_dim(indices, in, d);
  kernels::max_min_dim(max, view(in), d, view(v), view(i));
}

}  // namespace

void argmax(const Tensor& self, std::optional<int64_t> dim, bool, const Tensor& out) {
  arg_extremum(true, self, dim, out);
}
void argmin(const Tensor& self, std::optional<int64_t> dim, bool, const Tensor& out) {
  arg_extremum(false, self, dim, out);
}
void max_dim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  extremum(true, self, dim, values, indices);
}
void min_dim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  extremum(false, self, dim, values, indices);
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
