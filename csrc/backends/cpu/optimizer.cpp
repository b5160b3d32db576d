#include "generated/cpu/optimizer.h"

#include <cmath>

#include "backends/cpu/kernel_view.h"
#include "core/host_lock.h"
#include "kernels/optimizer/optimizer.h"

namespace mt::cpu {
namespace {

int64_t elements(TensorList tensors) {
  int64_t n = 0;
  for (const Tensor& t : tensors) n += t.numel();
  return n;
}

double value(const Tensor& number) { return item(number).to<double>(); }

// A step whose gradients overflowed is left out.
bool overflowed(const Tensor& found_inf) { return found_inf.defined() && value(found_inf) == 1; }
double scale_of(const Tensor& grad_scale) { return grad_scale.defined() ? value(grad_scale) : 1; }

void adam(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
          TensorList max_exp_avg_sqs, TensorList state_steps, kernels::AdamStep step, bool amsgrad,
          const Tensor& grad_scale, const Tensor& found_inf) {
  if (overflowed(found_inf)) return;
  std::vector<kernels::AdamTensors> tensors;
  tensors.reserve(self.size());
  double count = -1;
  for (size_t i = 0; i < self.size(); ++i) {
    const double now = value(state_steps[i]);
    if (now != count) {
      count = now;
      step.correction1 = 1 - std::pow(step.beta1, now);
      step.correction2 = 1 - std::pow(step.beta2, now);
    }
    tensors.push_back({view(self[i]), view(grads[i]), view(exp_avgs[i]), view(exp_avg_sqs[i]),
                       amsgrad ? view(max_exp_avg_sqs[i]) : kernels::View{}, step});
  }
  const HostWork work(elements(self));
  kernels::adam(tensors, amsgrad, scale_of(grad_scale));
}

}  // namespace

void fused_adam(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,
                double weight_decay, double eps, bool amsgrad, bool maximize, const Tensor& grad_scale,
                const Tensor& found_inf) {
  adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
       {lr, beta1, beta2, eps, weight_decay, 0, 0, false, maximize}, amsgrad, grad_scale, found_inf);
}

void fused_adamw(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                 TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,
                 double weight_decay, double eps, bool amsgrad, bool maximize, const Tensor& grad_scale,
                 const Tensor& found_inf) {
  adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
       {lr, beta1, beta2, eps, weight_decay, 0, 0, true, maximize}, amsgrad, grad_scale, found_inf);
}

void fused_sgd(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay,
               double momentum, double lr, double dampening, bool nesterov, bool maximize, bool is_first_step,
               const Tensor& grad_scale, const Tensor& found_inf) {
  if (overflowed(found_inf)) return;
  std::vector<kernels::SgdTensors> tensors;
  tensors.reserve(self.size());
  for (size_t i = 0; i < self.size(); ++i)
    tensors.push_back(
        {view(self[i]), view(grads[i]), momentum != 0 ? view(momentum_buffer_list[i]) : kernels::View{}});
  const HostWork work(elements(self));
  kernels::sgd(tensors, momentum != 0,
               {lr, momentum, dampening, weight_decay, nesterov, maximize, is_first_step},
               scale_of(grad_scale));
}

void fused_adagrad(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps,
                   double lr, double lr_decay, double weight_decay, double eps, bool maximize,
                   const Tensor& grad_scale, const Tensor& found_inf) {
  if (overflowed(found_inf)) return;
  std::vector<kernels::AdagradTensors> tensors;
  tensors.reserve(self.size());
  for (size_t i = 0; i < self.size(); ++i) {
    const double rate = lr / (1 + (value(state_steps[i]) - 1) * lr_decay);
    tensors.push_back(
        {view(self[i]), view(grads[i]), view(state_sums[i]), {rate, eps, weight_decay, maximize}});
  }
  const HostWork work(elements(self));
  kernels::adagrad(tensors, scale_of(grad_scale));
}

void unscale(TensorList self, const Tensor& found_inf, const Tensor& inv_scale) {
  std::vector<kernels::View> views;
  for (const Tensor& t : self) views.push_back(view(t));
  const double factor = value(inv_scale);
  const HostWork work(elements(self));
  if (kernels::unscale(views, factor)) kernels::fill(view(found_inf), Scalar(1.0));
}

void update_scale(const Tensor& self, const Tensor& growth_tracker, const Tensor& found_inf,
                  double scale_growth_factor, double scale_backoff_factor, int64_t growth_interval) {
  const kernels::ScaleState made =
      kernels::updated_scale({value(self), item(growth_tracker).to<int64_t>()}, value(found_inf) != 0,
                             scale_growth_factor, scale_backoff_factor, growth_interval);
  kernels::fill(view(self), Scalar(made.scale));
  kernels::fill(view(growth_tracker), Scalar(made.successes));
}

}  // namespace mt::cpu
