#include "generated/npu/optimizer.h"

#include "backends/npu/aclnn_call.h"
#include "generated/ops/binary.h"
#include "generated/ops/pointwise.h"

namespace mt::npu {
namespace {

// The vendor's Adam wants the number of the steps before this one.
std::vector<Tensor> steps_before(TensorList steps) {
  std::vector<Tensor> before;
  before.reserve(steps.size());
  for (const Tensor& step : steps) before.push_back(ops::sub(step, Scalar(1)));
  return before;
}

template <class F>
void adam(F& function, TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
          TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,
          double weight_decay, double eps, bool amsgrad, bool maximize, const Tensor& grad_scale,
          const Tensor& found_inf) {
  for (const Tensor& step : state_steps)
    MT_CHECK(step.device() == self[0].device(), function.name(), ": state_steps must be on ",
             to_string(self[0].device()), " like the parameters, got ", to_string(step.device()));
  const std::vector<Tensor> before = steps_before(state_steps);
  aclnn::call(function, self[0].device(), self, grads, exp_avgs, exp_avg_sqs,
              amsgrad ? max_exp_avg_sqs : TensorList(), TensorList(before), grad_scale, found_inf, lr, beta1,
              beta2, weight_decay, eps, amsgrad, maximize);
}

}  // namespace

void fused_adam(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,
                double weight_decay, double eps, bool amsgrad, bool maximize, const Tensor& grad_scale,
                const Tensor& found_inf) {
  static aclnn::Function<decltype(aclnnFusedAdamGetWorkspaceSize)> f("aclnnFusedAdam");
  adam(f, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay,
       eps, amsgrad, maximize, grad_scale, found_inf);
}

void fused_adamw(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                 TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,
                 double weight_decay, double eps, bool amsgrad, bool maximize, const Tensor& grad_scale,
                 const Tensor& found_inf) {
  static aclnn::Function<decltype(aclnnFusedAdamwGetWorkspaceSize)> f("aclnnFusedAdamw");
  adam(f, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay,
       eps, amsgrad, maximize, grad_scale, found_inf);
}

void fused_sgd(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay,
               double momentum, double lr, double dampening, bool nesterov, bool maximize, bool is_first_step,
               const Tensor& grad_scale, const Tensor& found_inf) {
  // The vendor's function does not look at found_inf, so the host does.
  if (found_inf.defined() && item(found_inf).to<double>() == 1) return;
  static aclnn::Function<decltype(aclnnFusedSgdGetWorkspaceSize)> f("aclnnFusedSgd");
  aclnn::call(f, self[0].device(), self, grads, momentum != 0 ? momentum_buffer_list : TensorList(),
              grad_scale, weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step);
}

void unscale(TensorList self, const Tensor& found_inf, const Tensor& inv_scale) {
  static aclnn::Function<decltype(aclnnForeachNonFiniteCheckAndUnscaleGetWorkspaceSize)> f(
      "aclnnForeachNonFiniteCheckAndUnscale");
  aclnn::call(f, self[0].device(), self, found_inf, inv_scale);
}

void update_scale(const Tensor& self, const Tensor& growth_tracker, const Tensor& found_inf,
                  double scale_growth_factor, double scale_backoff_factor, int64_t growth_interval) {
  static aclnn::Function<decltype(aclnnAmpUpdateScaleGetWorkspaceSize)> f("aclnnAmpUpdateScale");
  aclnn::call(f, self.device(), self, growth_tracker, found_inf, scale_growth_factor, scale_backoff_factor,
              growth_interval, self, growth_tracker);
}

}  // namespace mt::npu
