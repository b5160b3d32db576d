// Layers of a recurrent network, in one or two directions: what aclnnLSTM, aclnnGRU and their gradients have in common.
#pragma once

#include "ops/recurrent/layer.h"

namespace softnpu::ops {

struct StackArguments {
  const aclTensor* input;
  bool has_bias;
  int64_t layers;
  bool bidirectional, batch_first;
  int64_t gates;  // times the width: the rows of a weight
};

class RecurrentStack {
 public:
  // Reads the input; the others follow where the operator has them.
  RecurrentStack(Plan& plan, const StackArguments& arguments);
  void read_params(Plan& plan, const aclTensorList* params);
  void read_lengths(Plan& plan, const aclTensor* batch_sizes);
  // Once the batch is known where lengths are given: from a state.
  void finish(const Plan& plan, int64_t batch_of_state);

  int64_t directions() const { return bidirectional_ ? 2 : 1; }
  int64_t count() const { return layers_ * directions(); }
  int64_t width() const { return width_; }
  int64_t batch() const { return batch_; }
  int64_t layers() const { return layers_; }
  int64_t inputs(int64_t layer) const { return layer == 0 ? inputs_ : directions() * width_; }
  DType dtype() const { return input_.dtype; }
  DType compute() const { return compute_dtype(dtype()); }
  const Operand& input() const { return input_; }

  // Time first.
  Operand time_first(const Operand& tensor) const {
    return batch_first_ && tensor.ndim == 3 ? permuted(tensor, {1, 0, 2}) : tensor;
  }
  // A tensor with a row for every step of every sequence; already time first.
  void require_rows(const Plan& plan, const Operand& tensor, const char* name, int64_t width) const;
  void require_state(const Plan& plan, const Operand& tensor, const char* name) const;
  // One tensor for each direction of each layer.
  void require_kept(const Plan& plan, const std::vector<Operand>& list, const char* name) const;
  // None where the list is empty or NULL; training needs them.
  std::vector<Operand> kept_outputs(Plan& plan, const aclTensorList* list, const char* name,
                                    bool train) const;
  // Gradients of the parameters, in their order.
  std::vector<Operand> gradients(Plan& plan, const aclTensorList* list) const;

  LayerWeights weights(const std::vector<Operand>& of, int64_t index) const;
  LayerWeights weights(int64_t index) const { return weights(params_, index); }
  Sequences sequences(const aclOpExecutor& e) const;
  // The packed input of a layer: the operator's, or what the layer before gave.
  mt::kernels::Temporary layer_input(const aclOpExecutor& e, const Sequences& sequences, int64_t layer,
                                     const std::vector<Operand>& hidden) const;

 private:
  Operand input_;
  std::vector<Operand> params_;
  std::optional<Operand> batch_sizes_;
  bool has_bias_, bidirectional_, batch_first_;
  int64_t layers_, gates_, width_ = 0, inputs_ = 0, steps_ = 0, batch_ = 0;
};

inline std::optional<Operand> state_at(const std::optional<Operand>& states, int64_t index) {
  if (!states) return std::nullopt;
  return selected(*states, 0, index);
}
inline std::optional<Operand> entry_at(const std::vector<Operand>& list, int64_t index) {
  if (list.empty()) return std::nullopt;
  return list[size_t(index)];
}

}  // namespace softnpu::ops
