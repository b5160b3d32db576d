// Rules of operators over lists of tensors.
#include <algorithm>

#include "core/views.h"
#include "infer/infer.h"

namespace mt::infer {

void check_list(TensorList tensors) {
  MT_CHECK(!tensors.empty(), "Tensor list must have at least one tensor.");
}

void check_lists(TensorList tensors, TensorList others) {
  MT_CHECK(tensors.size() == others.size(), "Tensor lists must have the same number of tensors, got ",
           tensors.size(), " and ", others.size());
}

void check_lists(TensorList tensors, std::span<const Scalar> numbers) {
  MT_CHECK(tensors.size() == numbers.size(), "Tensor list must have same number of elements as scalar list.");
}

void check_lists(TensorList tensors, const Tensor& numbers) {
  MT_CHECK(numbers.device().is_cpu(), "Expected scalars to be on CPU, got ", to_string(numbers.device()),
           " instead.");
  MT_CHECK(numbers.is_contiguous(), "Expected scalars to be contiguous.");
  MT_CHECK(numbers.dim() == 1, "Expected packed scalar Tensor to be of dimension 1. Got ", numbers.dim(),
           " instead.");
  MT_CHECK(numbers.numel() == int64_t(tensors.size()), "Expected length of scalars to match input of length ",
           tensors.size(), " but got ", numbers.numel(), " instead.");
}

const Tensor& list_number(const Tensor& number) {
  MT_CHECK(number.dim() == 0 && number.numel() == 1, "scalar tensor expected to be 0 dim but it has ",
           number.dim(), " dimensions and ", number.numel(), " elements.");
  return number;
}

Scalar list_entry(const Tensor& numbers, size_t i) { return item(views::select(numbers, 0, int64_t(i))); }

bool in_one_call(std::initializer_list<TensorList> lists) {
  const TensorList first = *lists.begin();
  const Device device = first[0].device();
  const DType dtype = first[0].dtype();
  const bool taken = dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16;
  if (!device.is_npu() || !taken) return false;
  for (const TensorList& list : lists)
    for (size_t i = 0; i < list.size(); ++i)
      if (list[i].device() != device || list[i].dtype() != dtype || !list[i].is_contiguous() ||
          list[i].numel() == 0 || !std::ranges::equal(list[i].sizes(), first[i].sizes()))
        return false;
  return true;
}

std::vector<Tensor> tensors_like(TensorList tensors) {
  std::vector<Tensor> made;
  made.reserve(tensors.size());
  for (const Tensor& t : tensors) made.push_back(new_tensor(t.sizes(), t.dtype(), t.device()));
  return made;
}

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
