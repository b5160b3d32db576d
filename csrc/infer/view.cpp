#include "generated/infer/view.h"

#include "core/meta_memory.h"
#include "core/views.h"
#include "infer/checks.h"

namespace mt::infer {
namespace {

void prepare_whole(const Tensor& grad_output, IntList sizes, const Tensor& window, Output& out) {
  MT_CHECK(std::ranges::equal(window.sizes(), grad_output.sizes()), "the gradient of a window of shape ",
           to_string(window.sizes()), " has that shape, got ", to_string(grad_output.sizes()));
  out.prepare(sizes, grad_output.dtype(), grad_output.device());
}

// A tensor of a shape without memory, to take a window of.
Tensor shape_only(const Tensor& grad_output, IntList sizes) {
  const UncountedMeta uncounted;
  return new_tensor(sizes, grad_output.dtype(), {DeviceType::meta});
}

}  // namespace

void select_backward(const Tensor& grad_output, IntList sizes, int64_t dim, int64_t index, Output& out) {
  prepare_whole(grad_output, sizes, views::select(shape_only(grad_output, sizes), dim, index), out);
}

void slice_backward(const Tensor& grad_output, IntList sizes, int64_t dim, int64_t start, int64_t end,
                    int64_t step, Output& out) {
  const Tensor window = views::slice(shape_only(grad_output, sizes), dim, start, end, step);
  prepare_whole(grad_output, sizes, window, out);
}

void diagonal_backward(const Tensor& grad_output, IntList sizes, int64_t offset, int64_t dim1, int64_t dim2,
                       Output& out) {
  const Tensor window = views::diagonal(shape_only(grad_output, sizes), offset, dim1, dim2);
  prepare_whole(grad_output, sizes, window, out);
}

}  // namespace mt::infer
