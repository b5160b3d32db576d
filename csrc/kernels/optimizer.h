// One step of an optimizer over a parameter and its state, in a single pass. All views have one shape and real floating
// dtypes; everything is computed in double.
#pragma once

#include "kernels/view.h"

namespace mt::kernels {

struct AdamStep {
  double rate, beta1, beta2, epsilon, weight_decay;
  double correction1, correction2;  // 1 - beta^t
  bool decoupled;                   // weight decay acts on the parameter (AdamW) and not on the gradient
  bool maximize;
  bool nesterov = false;  // the mean is looked at one step ahead
};
// `largest` (amsgrad) may be null. With a `scale` other than 1 the gradient is divided by it, in memory too.
void adam(const View& parameter, const View& gradient, const View& mean, const View& square,
          const View* largest, const AdamStep& step, double scale);
// Adam that also keeps a running average of the parameter.
void adam_with_average(const View& parameter, const View& gradient, const View& mean, const View& square,
                       const View& average, const AdamStep& step, double average_decay);

struct SgdStep {
  double rate, momentum, dampening, weight_decay;
  bool nesterov, maximize;
  bool first;  // the momentum has no value yet
};
// `momentum` may be null; `scale` as above.
void sgd(const View& parameter, const View& gradient, const View* momentum, const SgdStep& step,
         double scale);

}  // namespace mt::kernels
