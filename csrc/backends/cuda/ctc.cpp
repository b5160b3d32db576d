// Connectionist temporal classification, of the losses.
#include "backends/cuda/dense.h"
#include "backends/cuda/program.h"
#include "generated/cuda/loss.h"

namespace mt::cuda {
namespace {

constexpr Family kCtc{"ctc.h", "CtcCall"};

// What both directions read, and the memory that it lies in.
struct Problem {
  Tensor probs, labels, lengths;
  CtcCall call{};

  Problem(const Tensor& log_probs, const Tensor& targets, IntList input_lengths, IntList target_lengths,
          int64_t blank, bool zero_infinity, int64_t states)
      : probs(dense(log_probs)), labels(dense(index_on(targets, log_probs.device()))) {
    const int64_t batch = log_probs.size(1);
    Dims numbers(input_lengths);
    for (const int64_t length : target_lengths) numbers.push_back(length);
    for (int64_t n = 0, start = 0; n < batch; ++n) {
      numbers.push_back(targets.dim() == 2 ? n * targets.size(1) : start);
      start += target_lengths[size_t(n)];
    }
    lengths = numbers_on_device(numbers, log_probs.device());
    call.probs = memory(probs);
    call.labels = static_cast<const long long*>(memory(labels));
    call.input_lengths = static_cast<const long long*>(memory(lengths));
    call.target_lengths = call.input_lengths + batch;
    call.label_starts = call.target_lengths + batch;
    call.steps = log_probs.size(0);
    call.batch = batch;
    call.classes = log_probs.size(2);
    call.states = states;
    call.blank = blank;
    call.zero_infinity = zero_infinity;
  }
  void run(Variants& variants, const char* name, const char* kernel) const {
    run_family(kCtc, variants, key_of({int(probs.dtype())}), name, probs, {unsigned(call.batch)}, {256}, call,
               [&] { return join_text(kernel, "<", type_text(probs.dtype()), ">"); });
  }
};

}  // namespace

void ctc_loss_forward(const Tensor& log_probs, const Tensor& targets, IntList input_lengths,
                      IntList target_lengths, int64_t blank, bool zero_infinity, const Tensor& loss,
                      const Tensor& log_alpha) {
  Problem problem(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, log_alpha.size(2));
  const DenseResult losses(loss), alpha(log_alpha);
  problem.call.loss = losses.data();
  problem.call.alpha = alpha.data();
  static Variants variants;
  problem.run(variants, "ctc_loss", "ctc_summed");
  losses.finish();
  alpha.finish();
}

void ctc_loss_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                       IntList input_lengths, IntList target_lengths, const Tensor&, const Tensor& log_alpha,
                       int64_t blank, bool zero_infinity, const Tensor& out) {
  Problem problem(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, log_alpha.size(2));
  const Tensor gradient = dense(grad), alpha = dense(log_alpha);
  const Place place(out);
  const Scratch beta(place, size_t(problem.call.batch * 2 * problem.call.states) * out.itemsize());
  into_dense(out, [&](const Tensor& made) {
    gpu().fill(made, Scalar(0));
    problem.call.gradient = memory(gradient);
    problem.call.alpha = memory(alpha);
    problem.call.beta = beta.address();
    problem.call.out = memory(made);
    static Variants variants;
    problem.run(variants, "ctc_loss_backward", "ctc_backward");
  });
}

}  // namespace mt::cuda
