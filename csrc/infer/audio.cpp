#include "generated/infer/audio.h"

#include "infer/infer.h"

namespace mt::infer {

void rnnt_loss_forward(const Tensor& logits, const Tensor& targets, const Tensor& logit_lengths,
                       const Tensor& target_lengths, int64_t blank, double, bool, Output& result0,
                       Output& result1) {
  check_same_device({&logits, &targets, &logit_lengths, &target_lengths});
  MT_CHECK(is_floating(logits.dtype()), "logits must be float32 or float16 (half) type");
  MT_CHECK(targets.dtype() == DType::int32, "targets must be int32 type");
  MT_CHECK(logit_lengths.dtype() == DType::int32, "logit_lengths must be int32 type");
  MT_CHECK(target_lengths.dtype() == DType::int32, "target_lengths must be int32 type");
  MT_CHECK(logits.dim() == 4, "logits must be 4-D (batch, time, target, class), got ",
           to_string(logits.sizes()));
  MT_CHECK(targets.dim() == 2, "targets must be 2-D (batch, max target length), got ",
           to_string(targets.sizes()));
  MT_CHECK(logit_lengths.dim() == 1 && target_lengths.dim() == 1,
           "logit_lengths and target_lengths must be 1-D, got ", to_string(logit_lengths.sizes()), " and ",
           to_string(target_lengths.sizes()));
  const IntList x = logits.sizes();
  MT_CHECK(targets.sizes()[0] == x[0], "batch dimension mismatch between logits and targets");
  MT_CHECK(logit_lengths.sizes()[0] == x[0], "batch dimension mismatch between logits and logit_lengths");
  MT_CHECK(target_lengths.sizes()[0] == x[0], "batch dimension mismatch between logits and target_lengths");
  MT_CHECK(blank >= 0 && blank < x[3], "blank must be within [0, logits.shape[-1])");
  MT_CHECK(x[1] > 0, "logits have no time steps: ", to_string(x));
  MT_CHECK(targets.sizes()[1] + 1 == x[2], "output length mismatch: logits of ", to_string(x),
           " have room for ", x[2] - 1, " targets, got ", targets.sizes()[1]);
  result0.prepare(Dims{x[0]}, logits.dtype(), logits.device());
  result1.prepare(x, logits.dtype(), logits.device());
}

void forced_align(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                  const Tensor& target_lengths, int64_t blank, Output& result0, Output& result1) {
  check_same_device({&log_probs, &targets, &input_lengths, &target_lengths});
  MT_CHECK(is_floating(log_probs.dtype()), "log_probs must be float64, float32 or float16 (half) type");
  MT_CHECK(targets.dtype() == DType::int32 || targets.dtype() == DType::int64,
           "targets must be int32 or int64 type");
  MT_CHECK(log_probs.dim() == 3, "log_probs must be 3-D (batch_size, input length, num classes), got ",
           to_string(log_probs.sizes()));
  MT_CHECK(targets.dim() == 2, "targets must be 2-D (batch_size, target length), got ",
           to_string(targets.sizes()));
  MT_CHECK(input_lengths.dim() == 1, "input_lengths must be 1-D");
  MT_CHECK(target_lengths.dim() == 1, "target_lengths must be 1-D");
  const IntList x = log_probs.sizes();
  MT_CHECK(x[0] == 1, "The batch dimension for log_probs must be 1 at the current version.");
  MT_CHECK(targets.sizes()[0] == 1, "The batch dimension for targets must be 1 at the current version.");
  MT_CHECK(input_lengths.numel() == 1 && target_lengths.numel() == 1,
           "input_lengths and target_lengths must have one entry, got ", input_lengths.numel(), " and ",
           target_lengths.numel());
  MT_CHECK(blank >= 0 && blank < x[2], "blank must be within [0, num classes)");
  MT_CHECK(x[1] > 0 && targets.sizes()[1] > 0, "forced_align: log_probs of ", to_string(x),
           " and targets of ", to_string(targets.sizes()), " leave nothing to align");
  result0.prepare(Dims{1, x[1]}, targets.dtype(), targets.device());
  result1.prepare(x, log_probs.dtype(), log_probs.device());
}

void lfilter_core_loop(const Tensor& input, const Tensor& coefficients, const Tensor& padded) {
  check_same_device({&input, &coefficients, &padded});
  MT_CHECK(
      input.dim() == 3 && coefficients.dim() == 2 && padded.dim() == 3,
      "_lfilter_core_loop: expected signals [batch, channels, time] and coefficients [channels, order], got ",
      to_string(input.sizes()), ", ", to_string(padded.sizes()), " and ", to_string(coefficients.sizes()));
  const IntList x = input.sizes(), a = coefficients.sizes();
  const Dims wanted{x[0], x[1], x[2] + a[1] - 1};
  MT_CHECK(a[0] == x[1] && a[1] >= 1 && std::ranges::equal(padded.sizes(), wanted),
           "_lfilter_core_loop: for an input of ", to_string(x), " and coefficients of ", to_string(a),
           " expected a result of ", to_string(wanted), ", got ", to_string(padded.sizes()));
  MT_CHECK(input.dtype() == padded.dtype() && coefficients.dtype() == padded.dtype(),
           "_lfilter_core_loop: expected tensors of one dtype, got ", info(input.dtype()).legacy, ", ",
           info(coefficients.dtype()).legacy, " and ", info(padded.dtype()).legacy);
  MT_CHECK_AS(not_implemented, is_floating(input.dtype()), "\"lfilter_core_loop\" not implemented for '",
              info(input.dtype()).legacy, "'");
}

}  // namespace mt::infer
