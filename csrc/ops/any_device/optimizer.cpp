// Steps of optimizers whose learning rate is a tensor.
#include "generated/ops/any_device/optimizer.h"

#include "generated/ops/optimizer.h"

namespace mt::any_device {

// A learning rate given as a tensor is read on the host, which waits for its device.
void fused_adam(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                TensorList max_exp_avg_sqs, TensorList state_steps, const Tensor& lr, double beta1,
                double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                const Tensor& grad_scale, const Tensor& found_inf) {
  ops::_fused_adam_(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, item(lr).to<double>(),
                    beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void fused_adamw(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                 TensorList max_exp_avg_sqs, TensorList state_steps, const Tensor& lr, double beta1,
                 double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                 const Tensor& grad_scale, const Tensor& found_inf) {
  ops::_fused_adamw_(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, item(lr).to<double>(),
                     beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void fused_sgd(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay,
               double momentum, const Tensor& lr, double dampening, bool nesterov, bool maximize,
               bool is_first_step, const Tensor& grad_scale, const Tensor& found_inf) {
  ops::_fused_sgd_(self, grads, momentum_buffer_list, weight_decay, momentum, item(lr).to<double>(),
                   dampening, nesterov, maximize, is_first_step, grad_scale, found_inf);
}

void fused_adagrad(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps,
                   const Tensor& lr, double lr_decay, double weight_decay, double eps, bool maximize,
                   const Tensor& grad_scale, const Tensor& found_inf) {
  ops::_fused_adagrad_(self, grads, state_sums, state_steps, item(lr).to<double>(), lr_decay, weight_decay,
                       eps, maximize, grad_scale, found_inf);
}

}  // namespace mt::any_device
