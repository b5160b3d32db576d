// Distances and the losses that have kernels of their own.
#include "backends/cpu/view.h"
#include "core/views.h"
#include "generated/cpu/kernels.h"
#include "kernels/distance/distance.h"
#include "kernels/loss/ctc.h"

namespace mt::cpu {
namespace {

// Leading dimensions joined into one batch.
Tensor batched(const Tensor& t) {
  const Tensor d = dense(t);
  int64_t batch = 1;
  for (int64_t i = 0; i + 2 < d.dim(); ++i) batch *= d.sizes()[size_t(i)];
  return views::view(d, Dims{batch, d.size(-2), d.size(-1)});
}

// Runs a kernel that wants a dense result; copies it to `out` if that is not dense itself.
template <class F>
void into_dense(const Tensor& out, F&& kernel) {
  if (out.is_contiguous()) return kernel(out);
  const Tensor result = new_tensor(out.sizes(), out.dtype(), out.device());
  kernel(result);
  kernels::copy(view(result), view(out));
}

}  // namespace

void cdist_forward(const Tensor& x1, const Tensor& x2, double p, const Tensor& out) {
  into_dense(out, [&](const Tensor& result) {
    kernels::cdist(view(batched(x1)), view(batched(x2)), p, view(batched(result)));
  });
}

void cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p, const Tensor& distances,
                    const Tensor& out) {
  into_dense(out, [&](const Tensor& result) {
    kernels::cdist_backward(view(batched(grad)), view(batched(x1)), view(batched(x2)), p,
                            view(batched(distances)), view(batched(result)));
  });
}

void pdist_forward(const Tensor& self, double p, const Tensor& out) {
  into_dense(out, [&](const Tensor& result) { kernels::pdist(view(dense(self)), p, view(result)); });
}

void pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& distances,
                    const Tensor& out) {
  into_dense(out, [&](const Tensor& result) {
    kernels::pdist_backward(view(dense(grad)), view(dense(self)), p, view(dense(distances)), view(result));
  });
}

void ctc_loss_forward(const Tensor& log_probs, const Tensor& targets, IntList input_lengths,
                      IntList target_lengths, int64_t blank, bool zero_infinity, const Tensor& loss,
                      const Tensor& log_alpha) {
  const Tensor labels = as_long(targets);
  const kernels::CtcProblem problem{view(log_probs),       view(labels), input_lengths.data(),
                                    target_lengths.data(), blank,        zero_infinity};
  into_dense(log_alpha, [&](const Tensor& alpha) { kernels::ctc_loss(problem, view(loss), view(alpha)); });
}

void ctc_loss_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                       IntList input_lengths, IntList target_lengths, const Tensor&, const Tensor& log_alpha,
                       int64_t blank, bool zero_infinity, const Tensor& out) {
  const Tensor labels = as_long(targets);
  const kernels::CtcProblem problem{view(log_probs),       view(labels), input_lengths.data(),
                                    target_lengths.data(), blank,        zero_infinity};
  into_dense(out, [&](const Tensor& result) {
    kernels::ctc_loss_backward(problem, view(grad), view(dense(log_alpha)), view(result));
  });
}

}  // namespace mt::cpu
