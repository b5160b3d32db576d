#include "generated/infer/optimizer.h"

#include <algorithm>

#include "infer/lists.h"

namespace mt::infer {
namespace {

struct StateList {
  const char* name;
  TensorList tensors;
};

// Parameters and the lists of their state: as many, of one shape, floating, beside their parameter.
void check_fused(const char* kernel, TensorList parameters, std::initializer_list<StateList> state,
                 TensorList steps, const Tensor& grad_scale, const Tensor& found_inf) {
  for (const StateList& list : state)
    MT_CHECK(list.tensors.size() == parameters.size(), kernel, ": ", list.name, " has ", list.tensors.size(),
             " tensors, wanted one for each of the ", parameters.size(), " parameters");
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& parameter = parameters[i];
    MT_CHECK_AS(not_implemented, is_floating(parameter.dtype()), '"', kernel, "\" not implemented for '",
                info(parameter.dtype()).legacy, "'");
    MT_CHECK(parameter.device() == parameters[0].device(), kernel, ": parameters are on ",
             to_string(parameters[0].device()), " and on ", to_string(parameter.device()),
             "; call it once for each device");
    for (const StateList& list : state) {
      const Tensor& t = list.tensors[i];
      MT_CHECK(is_floating(t.dtype()) && t.device() == parameter.device() &&
                   std::ranges::equal(t.sizes(), parameter.sizes()),
               kernel, ": entry ", i, " of ", list.name, " must be a floating tensor with the shape and on ",
               "the device of its parameter (", to_string(parameter.device()), ")");
    }
  }
  for (const Tensor& step : steps)
    MT_CHECK(step.numel() == 1 && !is_complex(step.dtype()), kernel,
             ": an entry of state_steps must hold one number");
  for (const Tensor* number : {&grad_scale, &found_inf})
    MT_CHECK(!number->defined() || number->numel() == 1, kernel,
             ": grad_scale and found_inf must hold one number");
}

void check_adam(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                TensorList max_exp_avg_sqs, TensorList state_steps, bool amsgrad, const Tensor& grad_scale,
                const Tensor& found_inf) {
  const StateList largest{"max_exp_avg_sqs", amsgrad ? max_exp_avg_sqs : grads};
  check_fused("fused_adam_kernel", self,
              {{"grads", grads}, {"exp_avgs", exp_avgs}, {"exp_avg_sqs", exp_avg_sqs}, largest}, state_steps,
              grad_scale, found_inf);
  check_lists(self, state_steps);
}

void check_sgd(TensorList self, TensorList grads, TensorList momentum_buffer_list, double momentum,
               const Tensor& grad_scale, const Tensor& found_inf) {
  const StateList buffers{"momentum_buffer_list", momentum != 0 ? momentum_buffer_list : grads};
  check_fused("fused_sgd_kernel", self, {{"grads", grads}, buffers}, {}, grad_scale, found_inf);
}

void check_adagrad(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps,
                   const Tensor& grad_scale, const Tensor& found_inf) {
  check_fused("fused_adagrad_kernel", self, {{"grads", grads}, {"state_sums", state_sums}}, state_steps,
              grad_scale, found_inf);
  check_lists(self, state_steps);
}

}  // namespace

// The learning rate is a number or a tensor, which the kernel reads.
void fused_adam(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                TensorList max_exp_avg_sqs, TensorList state_steps, double, double, double, double, double,
                bool amsgrad, bool, const Tensor& grad_scale, const Tensor& found_inf) {
  check_adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, amsgrad, grad_scale,
             found_inf);
}
void fused_adam(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                TensorList max_exp_avg_sqs, TensorList state_steps, const Tensor&, double, double, double,
                double, bool amsgrad, bool, const Tensor& grad_scale, const Tensor& found_inf) {
  check_adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, amsgrad, grad_scale,
             found_inf);
}

void fused_sgd(TensorList self, TensorList grads, TensorList momentum_buffer_list, double, double momentum,
               double, double, bool, bool, bool, const Tensor& grad_scale, const Tensor& found_inf) {
  check_sgd(self, grads, momentum_buffer_list, momentum, grad_scale, found_inf);
}
void fused_sgd(TensorList self, TensorList grads, TensorList momentum_buffer_list, double, double momentum,
               const Tensor&, double, bool, bool, bool, const Tensor& grad_scale, const Tensor& found_inf) {
  check_sgd(self, grads, momentum_buffer_list, momentum, grad_scale, found_inf);
}

void fused_adagrad(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps, double,
                   double, double, double, bool, const Tensor& grad_scale, const Tensor& found_inf) {
  check_adagrad(self, grads, state_sums, state_steps, grad_scale, found_inf);
}
void fused_adagrad(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps,
                   const Tensor&, double, double, double, bool, const Tensor& grad_scale,
                   const Tensor& found_inf) {
  check_adagrad(self, grads, state_sums, state_steps, grad_scale, found_inf);
}

void check_unscale(TensorList self, const Tensor& found_inf, const Tensor& inv_scale) {
  MT_CHECK(inv_scale.numel() == 1, "inv_scale must be a 1-element tensor.");
  MT_CHECK(found_inf.numel() == 1, "found_inf must be a 1-element tensor.");
  MT_CHECK(inv_scale.dtype() == DType::float32, "inv_scale must be a float tensor.");
  MT_CHECK(found_inf.dtype() == DType::float32, "found_inf must be a float tensor.");
  for (const Tensor& t : self) {
    MT_CHECK_AS(not_implemented, is_floating(t.dtype()),
                "\"_amp_foreach_non_finite_check_and_unscale_cpu\" not implemented for '",
                info(t.dtype()).legacy, "'");
    MT_CHECK(t.device() == self[0].device() && found_inf.device() == t.device() &&
                 inv_scale.device() == t.device(),
             "Expected all tensors, found_inf and inv_scale to be on the same device, got ",
             to_string(t.device()), ", ", to_string(found_inf.device()), " and ",
             to_string(inv_scale.device()));
  }
}

void check_update_scale(const Tensor& self, const Tensor& growth_tracker, const Tensor& found_inf, double,
                        double, int64_t) {
  MT_CHECK(growth_tracker.numel() == 1, "growth_tracker must be a 1-element tensor.");
  MT_CHECK(self.numel() == 1, "current_scale must be a 1-element tensor.");
  MT_CHECK(found_inf.numel() == 1, "found_inf must be a 1-element tensor.");
  MT_CHECK(growth_tracker.dtype() == DType::int32, "growth_tracker must be an int tensor.");
  MT_CHECK(self.dtype() == DType::float32, "current_scale must be a float tensor.");
  MT_CHECK(found_inf.dtype() == DType::float32, "found_inf must be a float tensor.");
  MT_CHECK(self.device() == growth_tracker.device() && self.device() == found_inf.device(),
           "Expected the scale, growth_tracker and found_inf to be on the same device, got ",
           to_string(self.device()), ", ", to_string(growth_tracker.device()), " and ",
           to_string(found_inf.device()));
}

}  // namespace mt::infer
