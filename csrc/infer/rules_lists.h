// Rules of operators over lists of tensors. Included by infer.h.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

void check_list(TensorList tensors);  // not empty
void check_lists(TensorList tensors, TensorList others);
void check_lists(TensorList tensors, std::span<const Scalar> numbers);
void check_lists(TensorList tensors, const Tensor& numbers);  // a number per entry
const Tensor& list_number(const Tensor& number);              // one number for all entries
Scalar list_entry(const Tensor& numbers, size_t i);

// Whether the NPU may do lists in one launch: entries of one floating dtype on one device, dense, and of the same
// shapes in all lists.
bool in_one_call(std::initializer_list<TensorList> lists);
std::vector<Tensor> tensors_like(TensorList tensors);

struct StateList {
  const char* name;
  TensorList tensors;
};
// Parameters and the lists of their state: as many, of one shape, floating, beside their parameter.
void check_fused(const char* kernel, TensorList parameters, std::initializer_list<StateList> state,
                 TensorList steps, const Tensor& grad_scale, const Tensor& found_inf);

// `Rate` is a number or a tensor.
template <class Rate>
void fused_adam(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                TensorList max_exp_avg_sqs, TensorList state_steps, const Rate&, double, double, double,
                double, bool amsgrad, bool, const Tensor& grad_scale, const Tensor& found_inf) {
  const StateList largest{"max_exp_avg_sqs", amsgrad ? max_exp_avg_sqs : grads};
  check_fused("fused_adam_kernel", self,
              {{"grads", grads}, {"exp_avgs", exp_avgs}, {"exp_avg_sqs", exp_avg_sqs}, largest}, state_steps,
              grad_scale, found_inf);
  check_lists(self, state_steps);
}

template <class Rate>
void fused_sgd(TensorList self, TensorList grads, TensorList momentum_buffer_list, double, double momentum,
               const Rate&, double, bool, bool, bool, const Tensor& grad_scale, const Tensor& found_inf) {
  const StateList buffers{"momentum_buffer_list", momentum != 0 ? momentum_buffer_list : grads};
  check_fused("fused_sgd_kernel", self, {{"grads", grads}, buffers}, {}, grad_scale, found_inf);
}

template <class Rate>
void fused_adagrad(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps,
                   const Rate&, double, double, double, bool, const Tensor& grad_scale,
                   const Tensor& found_inf) {
  check_fused("fused_adagrad_kernel", self, {{"grads", grads}, {"state_sums", state_sums}}, state_steps,
              grad_scale, found_inf);
  check_lists(self, state_steps);
}

void check_unscale(TensorList self, const Tensor& found_inf, const Tensor& inv_scale);
void check_update_scale(const Tensor& self, const Tensor& growth_tracker, const Tensor& found_inf, double,
                        double, int64_t);

}  // namespace mt::infer
