#include "generated/npu/shape.h"

#include "backends/npu/aclnn_call.h"
#include "core/views.h"

namespace mt::npu {

// Complex numbers go by their parts, each a view.
void unfold_backward(const Tensor& grad_in, IntList input_sizes, int64_t dim, int64_t size, int64_t step,
                     const Tensor& out) {
  static aclnn::Function<decltype(aclnnUnfoldGradGetWorkspaceSize)> f("aclnnUnfoldGrad");
  if (!is_complex(out.dtype()))
    return aclnn::call(f, out.device(), grad_in, input_sizes, dim, size, step, out);
  const Tensor grads = views::view_as_real(grad_in), results = views::view_as_real(out);
  for (int64_t part = 0; part < 2; ++part)
    aclnn::call(f, out.device(), views::select(grads, -1, part), input_sizes, dim, size, step,
                views::select(results, -1, part));
}

}  // namespace mt::npu
