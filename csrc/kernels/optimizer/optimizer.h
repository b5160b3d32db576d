// Steps of optimizers over lists of parameters with their state, in a single pass each. The views of an entry have one
// shape and real floating dtypes. Everything is computed in float, or in double where a view is float64.
#pragma once

#include <span>

#include "kernels/common/view.h"

namespace mt::kernels {

struct AdamStep {
  double rate, beta1, beta2, epsilon, weight_decay;
  double correction1, correction2;  // 1 - beta^t
  bool decoupled;                   // weight decay acts on the parameter (AdamW) and not on the gradient
  bool maximize;
  bool nesterov = false;  // the mean is looked at one step ahead
};
struct AdamTensors {
  View parameter, gradient, mean, square;
  View largest;  // of amsgrad only
  AdamStep step;
};
// With a `scale` other than 1 the gradients are divided by it, in memory too.
void adam(std::span<const AdamTensors> tensors, bool amsgrad, double scale);
// Adam that also keeps a running average of the parameter, in place of the largest squares.
void adam_with_average(const AdamTensors& tensors, double average_decay);

struct SgdStep {
  double rate, momentum, dampening, weight_decay;
  bool nesterov, maximize;
  bool first;  // the momentum has no value yet
};
struct SgdTensors {
  View parameter, gradient;
  View momentum;  // with a momentum only
};
void sgd(std::span<const SgdTensors> tensors, bool with_momentum, const SgdStep& step, double scale);

struct AdagradStep {
  double rate, epsilon, weight_decay;
  bool maximize;
};
struct AdagradTensors {
  View parameter, gradient, sum;
  AdagradStep step;
};
void adagrad(std::span<const AdagradTensors> tensors, double scale);

// The tensors times `factor`. Returns whether one of them held an infinity or a NaN before.
bool unscale(std::span<const View> tensors, double factor);

// The scale and the count of steps without an infinity, after a step.
struct ScaleState {
  double scale;
  int64_t successes;
};
ScaleState updated_scale(ScaleState now, bool found_inf, double growth, double backoff, int64_t interval);

}  // namespace mt::kernels
