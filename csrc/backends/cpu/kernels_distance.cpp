// Distances and the losses that have kernels of their own.
#include "backends/cpu/view.h"
#include "core/views.h"
#include "generated/cpu/kernels.h"
#include "kernels/ctc.h"
#include "kernels/distance.h"

namespace mt::cpu {
namespace {

Tensor dense(const Tensor& t) {
  if (t.is_contiguous()) return t;
  const Tensor copy = new_tensor(t.sizes(), t.dtype(), t.device());
  kernels::copy(view(t), view(copy));
  return copy;
}

// Leading dimensions joined into one batch.
Tensor batched(const Tensor& t) {
  const Tensor d = dense(t);
  int64_t batch = 1;
  for (int64_t i = 0; i + 2 < d.dim(); ++i) batch *= d.sizes()[size_t(i)];
  return views::view(d, Dims{batch, d.size(-2), d.size(-1)});
}

// A dense result for a kernel that wants one; copied to `out` if that is not dense itself.
class DenseResult {
 public:
  explicit DenseResult(const Tensor& out)
      : out_(out), dense_(out.is_contiguous() ? out : new_tensor(out.sizes(), out.dtype(), out.device())) {}
  ~DenseResult() {
    if (!dense_.same(out_)) kernels::copy(cpu::view(dense_), cpu::view(out_));
  }
  const Tensor& tensor() const { return dense_; }

 private:
  const Tensor& out_;
  Tensor dense_;
};

Tensor long_targets(const Tensor& targets) {
  if (targets.dtype() == DType::int64) return targets;
  const Tensor copy = new_tensor(targets.sizes(), DType::int64, targets.device());
  kernels::copy(view(targets), view(copy));
  return copy;
}

}  // namespace

void cdist_forward(const Tensor& x1, const Tensor& x2, double p, const Tensor& out) {
  const DenseResult result(out);
  kernels::cdist(view(batched(x1)), view(batched(x2)), p, view(batched(result.tensor())));
}

void cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p, const Tensor& distances,
                    const Tensor& out) {
  const DenseResult result(out);
  kernels::cdist_backward(view(batched(grad)), view(batched(x1)), view(batched(x2)), p,
                          view(batched(distances)), view(batched(result.tensor())));
}

void pdist_forward(const Tensor& self, double p, const Tensor& out) {
  const DenseResult result(out);
  kernels::pdist(view(dense(self)), p, view(result.tensor()));
}

void pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& distances,
                    const Tensor& out) {
  const DenseResult result(out);
  kernels::pdist_backward(view(dense(grad)), view(dense(self)), p, view(dense(distances)),
                          view(result.tensor()));
}

void ctc_loss_forward(const Tensor& log_probs, const Tensor& targets, IntList input_lengths,
                      IntList target_lengths, int64_t blank, bool zero_infinity, const Tensor& loss,
                      const Tensor& log_alpha) {
  const Tensor labels = long_targets(targets);
  const DenseResult alpha(log_alpha);
  kernels::ctc_loss(
      {view(log_probs), view(labels), input_lengths.data(), target_lengths.data(), blank, zero_infinity},
      view(loss), view(alpha.tensor()));
}

void ctc_loss_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                       IntList input_lengths, IntList target_lengths, const Tensor&, const Tensor& log_alpha,
                       int64_t blank, bool zero_infinity, const Tensor& out) {
  const Tensor labels = long_targets(targets);
  const DenseResult result(out);
  kernels::ctc_loss_backward(
      {view(log_probs), view(labels), input_lengths.data(), target_lengths.data(), blank, zero_infinity},
      view(grad), view(dense(log_alpha)), view(result.tensor()));
}

}  // namespace mt::cpu
