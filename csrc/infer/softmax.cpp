#include "generated/infer/softmax.h"

namespace mt::infer {

void softmax(const Tensor& self, int64_t dim, bool half_to_float, Output& out) {
  wrap_dim(dim, self.dim());
  MT_CHECK_AS(not_implemented, is_floating(self.dtype()),
              "\"softmax_lastdim_kernel_impl\" not implemented for '", info(self.dtype()).legacy, "'");
  out.prepare(self.sizes(), half_to_float ? DType::float32 : self.dtype(), self.device());
}

void softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType input_dtype, Output& out) {
  wrap_dim(dim, output.dim());
  check_same_device({&grad, &output});
  MT_CHECK(std::ranges::equal(grad.sizes(), output.sizes()), "softmax_backward: grad of size ",
           to_string(grad.sizes()), " for an output of size ", to_string(output.sizes()));
  out.prepare(output.sizes(), input_dtype, output.device());
}

}  // namespace mt::infer
