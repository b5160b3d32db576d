// Rules of distances and of losses that have kernels of their own.
#include "infer/infer.h"

namespace mt::infer {
namespace {

void check_float_or_double(const Tensor& t, const char* name) {
  MT_CHECK_AS(not_implemented, t.dtype() == DType::float32 || t.dtype() == DType::float64, "\"", name,
              "\" not implemented for '", info(t.dtype()).legacy, "'");
}

void check_pair(const Tensor& x1, const Tensor& x2, double p) {
  MT_CHECK(is_floating(x1.dtype()),
           "cdist only supports floating-point dtypes, X1 got: ", info(x1.dtype()).legacy);
  MT_CHECK(is_floating(x2.dtype()),
           "cdist only supports floating-point dtypes, X2 got: ", info(x2.dtype()).legacy);
  MT_CHECK(x1.dim() >= 2, "cdist only supports at least 2D tensors, X1 got: ", x1.dim(), "D");
  MT_CHECK(x2.dim() >= 2, "cdist only supports at least 2D tensors, X2 got: ", x2.dim(), "D");
  MT_CHECK(x1.size(-1) == x2.size(-1), "X1 and X2 must have the same number of columns. X1: ", x1.size(-1),
           " X2: ", x2.size(-1));
  MT_CHECK(p >= 0, "cdist only supports non-negative p values");
  check_same_device({&x1, &x2});
  MT_CHECK(x1.dtype() == x2.dtype(), "expected scalar type ", info(x1.dtype()).legacy, " but found ",
           info(x2.dtype()).legacy);
  check_float_or_double(x1, "cdist");
  const IntList a = x1.sizes(), b = x2.sizes();
  MT_CHECK(std::ranges::equal(a.first(a.size() - 2), b.first(b.size() - 2)),
           "cdist: batches of different sizes, ", to_string(a), " and ", to_string(b));
}

Dims distance_shape(const Tensor& x1, const Tensor& x2) {
  Dims sizes(x1.sizes());
  sizes[sizes.size() - 1] = x2.size(-2);
  return sizes;
}

}  // namespace

void cdist(const Tensor& x1, const Tensor& x2, double p, Output& out) {
  check_pair(x1, x2, p);
  out.prepare(distance_shape(x1, x2), x1.dtype(), x1.device());
}

void cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p, const Tensor& distances,
                    Output& out) {
  check_pair(x1, x2, p);
  check_same_device({&grad, &x1, &distances});
  const Dims shape = distance_shape(x1, x2);
  for (const Tensor* t : {&grad, &distances})
    MT_CHECK(std::ranges::equal(t->sizes(), shape) && t->dtype() == x1.dtype(),
             "cdist_backward: expected distances of size ", to_string(shape), ", got ",
             to_string(t->sizes()));
  out.prepare(x1.sizes(), x1.dtype(), x1.device());
}

void pdist(const Tensor& self, double p, Output& out) {
  MT_CHECK(self.dim() == 2, "pdist only supports 2D tensors, got: ", self.dim(), "D");
  MT_CHECK(is_floating(self.dtype()), "pdist only supports floating-point dtypes");
  MT_CHECK(p >= 0, "pdist only supports non-negative p values");
  check_float_or_double(self, "pdist");
  const int64_t n = self.sizes()[0];
  MT_CHECK(n < (int64_t(1) << 31), "pdist: ", n, " points are too many");
  const int64_t pairs = n * (n - 1) / 2;
  out.prepare(IntList(&pairs, 1), self.dtype(), self.device());
}

void pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& distances, Output& out) {
  Output pairs;
  const Tensor shape =
      tensor_over(new_storage({DeviceType::meta}, 0), self.dtype(), self.sizes(), self.strides(), 0);
  pdist(shape, p, pairs);
  const Tensor wanted = pairs.take();
  check_same_device({&grad, &self, &distances});
  for (const Tensor* t : {&grad, &distances})
    MT_CHECK(std::ranges::equal(t->sizes(), wanted.sizes()) && t->dtype() == self.dtype(),
             "pdist_backward: expected distances of size ", to_string(wanted.sizes()), ", got ",
             to_string(t->sizes()));
  out.prepare(self.sizes(), self.dtype(), self.device());
}

void binary_loss(const Tensor& self, const Tensor& target, Output& out) {
  check_same_device({&self, &target});
  MT_CHECK(std::ranges::equal(self.sizes(), target.sizes()), "a target of size ", to_string(target.sizes()),
           " for an input of size ", to_string(self.sizes()));
  MT_CHECK(is_floating(self.dtype()), "expected an input of floating point, got ", info(self.dtype()).legacy);
  out.prepare(self.sizes(), self.dtype(), self.device());
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
