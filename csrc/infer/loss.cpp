#include "generated/infer/loss.h"

#include "infer/checks.h"

namespace mt::infer {
namespace {

void check_nll(const Tensor& self, const Tensor& target, const Tensor& weight) {
  MT_CHECK(self.dim() > 0 && self.dim() <= 2, "input tensor should be 1D or 2D");
  MT_CHECK(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  check_same_device({&self, &target, &weight});
  MT_CHECK(target.dtype() == DType::int64, "expected target dtype to be Long or Byte, but got ",
           info(target.dtype()).legacy);
  const bool flat = self.dim() == 1 && target.dim() == 0;
  MT_CHECK(flat || self.sizes()[0] == target.numel(), "size mismatch (got input: ", to_string(self.sizes()),
           ", target: ", to_string(target.sizes()), ")");
  const int64_t classes = self.sizes()[size_t(self.dim() - 1)];
  MT_CHECK(!weight.defined() || weight.numel() == classes, "weight tensor should be defined either for all ",
           classes, " classes or no classes but got weight tensor of shape: ",
           weight.defined() ? to_string(weight.sizes()) : std::string());
}
void check_nll2d(const Tensor& self, const Tensor& target, const Tensor& weight) {
  MT_CHECK(
      target.dim() == 3,
      "only batches of spatial targets supported (3D tensors) but got targets of dimension: ", target.dim());
  MT_CHECK(self.dim() == 4,
           "only batches of spatial inputs supported (4D tensors), but got input of dimension: ", self.dim());
  check_same_device({&self, &target, &weight});
  MT_CHECK(target.dtype() == DType::int64, "expected target dtype to be Long or Byte, but got ",
           info(target.dtype()).legacy);
  const IntList x = self.sizes(), t = target.sizes();
  MT_CHECK(x[0] == t[0] && x[2] == t[1] && x[3] == t[2], "size mismatch (got input: ", to_string(x),
           " , target: ", to_string(t));
  MT_CHECK(!weight.defined() || weight.numel() == x[1],
           "weight tensor should be defined either for all or no classes");
}
void check_nll_reduction(int64_t reduction) {
  MT_CHECK_AS(value, reduction >= 0 && reduction <= 2,
              "nll_loss: reduction must be 0 (none), 1 (mean) or 2 (sum), got ", reduction);
}

}  // namespace

void nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t,
              Output& output, Output& total_weight) {
  check_nll(self, target, weight);
  check_nll_reduction(reduction);
  const bool per_row = reduction == 0 && self.dim() == 2;
  output.prepare(per_row ? target.sizes() : IntList(), self.dtype(), self.device());
  total_weight.prepare({}, self.dtype(), self.device());
}

void nll_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
                       int64_t, int64_t, const Tensor& total_weight, Output& out) {
  check_nll(self, target, weight);
  check_same_device({&grad, &self, &total_weight});
  out.prepare(self.sizes(), self.dtype(), self.device());
}

void nll_loss2d(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t,
                Output& output, Output& total_weight) {
  check_nll2d(self, target, weight);
  check_nll_reduction(reduction);
  output.prepare(reduction == 0 ? target.sizes() : IntList(), self.dtype(), self.device());
  total_weight.prepare({}, self.dtype(), self.device());
}

void nll_loss2d_backward(const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
                         int64_t reduction, int64_t, const Tensor& total_weight, Output& out) {
  check_nll2d(self, target, weight);
  check_same_device({&grad, &self, &total_weight});
  MT_CHECK(reduction != 0 || std::ranges::equal(grad.sizes(), target.sizes()),
           "size mismatch (got grad_output: ", to_string(grad.sizes()),
           " target: ", to_string(target.sizes()));
  out.prepare(self.sizes(), self.dtype(), self.device());
}

namespace {

void check_reduction(const char* name, int64_t reduction) {
  MT_CHECK_AS(value, reduction >= 0 && reduction <= 2, name,
              ": reduction must be 0 (none), 1 (mean) or 2 (sum), got ", reduction);
}
void check_broadcasts_to(IntList sizes, const Tensor& tensor) {
  const Dims both = broadcast(sizes, tensor.sizes());
  MT_CHECK(std::ranges::equal(both, sizes), "output with shape ", to_string(sizes),
           " doesn't match the broadcast shape ", to_string(both));
}
// The result of a loss, or of its gradient if there is one of the loss, in the shape that both broadcast to.
void prepare_loss(const char* name, const Tensor* grad, const Tensor& self, const Tensor& target,
                  int64_t reduction, DType dtype, Output& out) {
  check_same_device({&self, &target});
  check_reduction(name, reduction);
  const Dims sizes = broadcast(self.sizes(), target.sizes());
  if (grad) check_broadcasts_to(sizes, *grad);
  MT_CHECK_AS(not_implemented, is_floating(result_type(self, target)), "\"", name,
              "_cpu\" not implemented for '", info(result_type(self, target)).legacy, "'");
  MT_CHECK(is_floating(dtype), "result type ", info(result_type(self, target)).legacy,
           " can't be cast to the desired output type ", info(dtype).legacy);
  out.prepare(grad || reduction == 0 ? IntList(sizes) : IntList(), dtype, self.device());
}
void check_width(const char* name, const char* what, bool ok) {
  MT_CHECK(ok, name, " does not support ", what, ".");
}
void check_entropy(const Tensor& self, const Tensor& target, const Tensor& weight) {
  check_same_device({&self, &target, &weight});
  MT_CHECK(std::ranges::equal(self.sizes(), target.sizes()), "a target of size ", to_string(target.sizes()),
           " for an input of size ", to_string(self.sizes()));
  MT_CHECK(self.dtype() == target.dtype(), "Found dtype ", info(target.dtype()).legacy, " but expected ",
           info(self.dtype()).legacy);
  if (weight.defined()) check_broadcasts_to(self.sizes(), weight);
}
void check_logit_entropy(const Tensor& self, const Tensor& target, const Tensor& weight,
                         const Tensor& pos_weight) {
  check_same_device({&self, &target, &weight, &pos_weight});
  MT_CHECK(target.dtype() != DType::boolean,
           "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
           "`logical_xor()` operator instead.");
  for (const Tensor* t : {&self, &weight, &pos_weight})
    if (t->defined()) check_broadcasts_to(target.sizes(), *t);
}

}  // namespace

void mse_loss(const Tensor& self, const Tensor& target, int64_t reduction, Output& out) {
  prepare_loss("mse", nullptr, self, target, reduction, result_type(self, target), out);
}
void mse_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                       Output& out) {
  prepare_loss("mse", &grad, self, target, reduction, result_type(self, target), out);
}
void smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta, Output& out) {
  check_width("smooth_l1_loss", "negative values for beta", beta >= 0);
  prepare_loss("smooth_l1", nullptr, self, target, reduction, result_type(self, target), out);
}
void smooth_l1_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                             double, Output& out) {
  prepare_loss("smooth_l1", &grad, self, target, reduction, result_type(self, target), out);
}
void huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta, Output& out) {
  check_width("huber_loss", "non-positive values for delta", delta > 0);
  prepare_loss("huber", nullptr, self, target, reduction, self.dtype(), out);
}
void huber_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                         double, Output& out) {
  prepare_loss("huber", &grad, self, target, reduction, self.dtype(), out);
}
void binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                          Output& out) {
  check_entropy(self, target, weight);
  prepare_loss("binary_cross_entropy", nullptr, self, target, reduction, self.dtype(), out);
}
void binary_cross_entropy_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                   const Tensor& weight, int64_t reduction, Output& out) {
  check_entropy(self, target, weight);
  prepare_loss("binary_cross_entropy", &grad, self, target, reduction, self.dtype(), out);
}
void binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight,
                                      const Tensor& pos_weight, int64_t reduction, Output& out) {
  check_logit_entropy(self, target, weight, pos_weight);
  prepare_loss("binary_cross_entropy_with_logits", nullptr, self, target, reduction, target.dtype(), out);
}
void binary_cross_entropy_with_logits_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                               const Tensor& weight, const Tensor& pos_weight,
                                               int64_t reduction, Output& out) {
  check_logit_entropy(self, target, weight, pos_weight);
  prepare_loss("binary_cross_entropy_with_logits", &grad, self, target, reduction, self.dtype(), out);
}

namespace {

// The longest target, after everything that the kernel will read has been found to be there.
int64_t check_ctc(const Tensor& log_probs, const Tensor& targets, IntList input_lengths,
                  IntList target_lengths, int64_t blank) {
  MT_CHECK(log_probs.dim() == 3, "log_probs must have 3 dimensions, got ", log_probs.dim());
  check_same_device({&log_probs, &targets});
  check_float_or_double(log_probs, "ctc_loss_cpu");
  MT_CHECK(log_probs.numel() > 0, "log_probs tensor must not be empty");
  const int64_t steps = log_probs.sizes()[0], batch = log_probs.sizes()[1], classes = log_probs.sizes()[2];
  MT_CHECK(blank >= 0 && blank < classes, "blank must be in label range");
  MT_CHECK(targets.dtype() == DType::int64 || targets.dtype() == DType::int32,
           "targets must be int or long, got ", info(targets.dtype()).legacy);
  MT_CHECK(int64_t(input_lengths.size()) == batch, "input_lengths must be of size batch_size");
  MT_CHECK(int64_t(target_lengths.size()) == batch, "target_lengths must be of size batch_size");
  MT_CHECK(targets.dim() == 1 || targets.dim() == 2, "targets must have 1 or 2 dimensions, got ",
           targets.dim());
  MT_CHECK(targets.dim() == 1 || targets.sizes()[0] == batch, "Expected targets to have batch_size ", batch,
           " rows, but got ", targets.sizes()[0]);
  int64_t longest = 0, total = 0;
  for (size_t i = 0; i < size_t(batch); ++i) {
    MT_CHECK(input_lengths[i] >= 0 && input_lengths[i] <= steps,
             "Expected input_lengths to have value at most ", steps, ", but got value ", input_lengths[i],
             " (while checking arguments for ctc_loss_cpu)");
    MT_CHECK(target_lengths[i] >= 0, "Expected target_lengths to have value at least 0, but got value ",
             target_lengths[i], " (while checking arguments for ctc_loss_cpu)");
    longest = std::max(longest, target_lengths[i]);
    MT_CHECK(!__builtin_add_overflow(total, target_lengths[i], &total), "target_lengths are too large");
  }
  if (targets.dim() == 1)
    MT_CHECK(targets.numel() >= total, "Expected tensor to have size ", total,
             " at dimension 0, but got size ", targets.numel(),
             " for argument #2 'targets' (while checking arguments for ctc_loss_cpu)");
  else
    MT_CHECK(targets.sizes()[1] >= longest, "Expected tensor to have size at least ", longest,
             " at dimension 1, but got size ", targets.sizes()[1],
             " for argument #2 'targets' (while checking arguments for ctc_loss_cpu)");
  return longest;
}

}  // namespace

void ctc_loss(const Tensor& log_probs, const Tensor& targets, IntList input_lengths, IntList target_lengths,
              int64_t blank, bool, Output& loss, Output& log_alpha) {
  const int64_t longest = check_ctc(log_probs, targets, input_lengths, target_lengths, blank);
  const int64_t batch = log_probs.sizes()[1];
  loss.prepare(IntList(&batch, 1), log_probs.dtype(), log_probs.device());
  log_alpha.prepare(Dims{batch, log_probs.sizes()[0], 2 * longest + 1}, log_probs.dtype(),
                    log_probs.device());
}

void ctc_loss_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                       IntList input_lengths, IntList target_lengths, const Tensor& loss,
                       const Tensor& log_alpha, int64_t blank, bool, Output& out) {
  const int64_t longest = check_ctc(log_probs, targets, input_lengths, target_lengths, blank);
  const int64_t batch = log_probs.sizes()[1];
  check_same_device({&grad, &log_probs, &loss, &log_alpha});
  for (const Tensor* t : {&grad, &loss})
    MT_CHECK(t->dim() == 1 && t->numel() == batch && t->dtype() == log_probs.dtype(),
             "ctc_loss_backward: expected one loss per sample, got size ", to_string(t->sizes()));
  MT_CHECK(std::ranges::equal(log_alpha.sizes(), Dims{batch, log_probs.sizes()[0], 2 * longest + 1}) &&
               log_alpha.dtype() == log_probs.dtype(),
           "ctc_loss_backward: log_alpha of size ", to_string(log_alpha.sizes()),
           " is not what forward gave");
  out.prepare(log_probs.sizes(), log_probs.dtype(), log_probs.device());
}

}  // namespace mt::infer
