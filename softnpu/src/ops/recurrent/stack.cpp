#include "ops/recurrent/stack.h"

#include "ops/common/temporary.h"

namespace softnpu::ops {

namespace {

constexpr DTypeSet kFloats = mt::kernels::dtype_set(DType::float16, DType::float32);

}  // namespace

RecurrentStack::RecurrentStack(Plan& plan, const StackArguments& a)
    : input_(plan.input(a.input, "input")),
      has_bias_(a.has_bias),
      bidirectional_(a.bidirectional),
      batch_first_(a.batch_first),
      layers_(a.layers),
      gates_(a.gates) {
  if (layers_ < 1) plan.invalid("numLayers is ", layers_, ", wanted at least 1");
  plan.require_dtype(input_, "input", kFloats);
  if (input_.ndim != 2 && input_.ndim != 3)
    plan.invalid("tensor 'input' has shape ", shape_text(input_), ", wanted 2 or 3 dimensions");
  input_ = time_first(input_);
  inputs_ = input_.sizes[input_.ndim - 1];
}

void RecurrentStack::read_params(Plan& plan, const aclTensorList* params) {
  params_ = plan.inputs(params, "params");
  const size_t each = has_bias_ ? 4 : 2, wanted = each * size_t(count());
  if (params_.size() != wanted)
    plan.invalid("'params' has ", params_.size(), " tensors, wanted ", wanted, " for ", layers_,
                 " layers in ", directions(), " directions");
  plan.require_ndim(params_[1], "params", 2);
  width_ = params_[1].sizes[1];
  for (size_t i = 0; i < params_.size(); ++i) {
    plan.require_same_dtype(params_[i], "params", input_, "input");
    const int64_t layer = int64_t(i / each) / directions();
    if (i % each >= 2) plan.require_shape(params_[i], "params", {gates_ * width_});
    else plan.require_shape(params_[i], "params", {gates_ * width_, i % each == 0 ? inputs(layer) : width_});
  }
}

void RecurrentStack::read_lengths(Plan& plan, const aclTensor* batch_sizes) {
  batch_sizes_ = unless_empty(plan.optional_input(batch_sizes, "batchSizes"));
  if (!batch_sizes_) {
    plan.require_ndim(input_, "input", 3);
    return;
  }
  plan.require_dtype(*batch_sizes_, "batchSizes", mt::kernels::dtype_set(DType::int64));
  plan.require_ndim(*batch_sizes_, "batchSizes", 1);
}

void RecurrentStack::finish(const Plan& plan, int64_t batch_of_state) {
  batch_ = batch_sizes_ ? batch_of_state : input_.sizes[1];
  steps_ = batch_sizes_ ? batch_sizes_->sizes[0] : input_.sizes[0];
  require_rows(plan, input_, "input", inputs_);
}

void RecurrentStack::require_rows(const Plan& plan, const Operand& tensor, const char* name,
                                  int64_t width) const {
  plan.require_same_dtype(tensor, name, input_, "input");
  if (tensor.ndim != 2 || !batch_sizes_) return plan.require_shape(tensor, name, {steps_, batch_, width});
  // Packed, which shows when the lengths are read, or padded.
  if (tensor.sizes[1] != width || tensor.sizes[0] > steps_ * batch_)
    plan.invalid("tensor '", name, "' has shape ", shape_text(tensor), ", wanted at most ", steps_ * batch_,
                 " rows of ", width);
}

void RecurrentStack::require_state(const Plan& plan, const Operand& tensor, const char* name) const {
  plan.require_same_dtype(tensor, name, input_, "input");
  plan.require_shape(tensor, name, {count(), batch_, width_});
}

void RecurrentStack::require_kept(const Plan& plan, const std::vector<Operand>& list,
                                  const char* name) const {
  if (int64_t(list.size()) != count())
    plan.invalid("'", name, "' has ", list.size(), " tensors, wanted ", count());
  for (const Operand& tensor : list) require_rows(plan, tensor, name, width_);
}

std::vector<Operand> RecurrentStack::kept_outputs(Plan& plan, const aclTensorList* list, const char* name,
                                                  bool train) const {
  if (list == nullptr) {
    if (train) plan.null_argument(name);
    plan.optional_input(nullptr, name);
    return {};
  }
  const std::vector<Operand> tensors = plan.outputs(list, name);
  if (train || !tensors.empty()) require_kept(plan, tensors, name);
  return tensors;
}

std::vector<Operand> RecurrentStack::gradients(Plan& plan, const aclTensorList* list) const {
  const std::vector<Operand> tensors = plan.outputs(list, "dparamsOut");
  if (tensors.size() != params_.size())
    plan.invalid("'dparamsOut' has ", tensors.size(), " tensors, wanted ", params_.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    plan.require_same_dtype(tensors[i], "dparamsOut", input_, "input");
    plan.require_same_shape(tensors[i], "dparamsOut", params_[i], "params");
  }
  return tensors;
}

LayerWeights RecurrentStack::weights(const std::vector<Operand>& of, int64_t index) const {
  const size_t at = size_t(index) * (has_bias_ ? 4 : 2);
  if (!has_bias_) return {of[at], of[at + 1], std::nullopt, std::nullopt};
  return {of[at], of[at + 1], of[at + 2], of[at + 3]};
}

Sequences RecurrentStack::sequences(const aclOpExecutor& e) const {
  if (!batch_sizes_) return Sequences(std::vector<int64_t>(size_t(steps_), batch_), batch_);
  const ReadAs rows(batch_sizes_->view(e), DType::int64);
  const int64_t* first = rows.view().as<int64_t>();
  return Sequences({first, first + steps_}, batch_);
}

mt::kernels::Temporary RecurrentStack::layer_input(const aclOpExecutor& e, const Sequences& sequences,
                                                   int64_t layer, const std::vector<Operand>& hidden) const {
  if (layer == 0) return sequences.packed(input_, e, compute());
  mt::kernels::Temporary made({sequences.total(), inputs(layer)}, compute());
  for (int64_t d = 0; d < directions(); ++d)
    sequences.pack(hidden[size_t((layer - 1) * directions() + d)], e,
                   Block::columns(made.view(), d * width_, width_).view);
  return made;
}

}  // namespace softnpu::ops
