// Arguments as operators of neural networks take them: lists for each dimension, flags, texts, results that may be left
// out, and other ways to look at an operand.
#pragma once

#include <initializer_list>
#include <string_view>

#include "kernels/common/dense.h"
#include "kernels/loss/nll.h"
#include "ops/common/plan.h"

namespace softnpu::ops {

inline std::vector<int64_t> int_list(const Plan& plan, const aclIntArray* array, const char* name) {
  if (array == nullptr) plan.null_argument(name);
  return {array->values.data(), array->values.data() + array->values.size()};
}
inline std::vector<int64_t> optional_list(const aclIntArray* array) {
  if (array == nullptr) return {};
  return {array->values.data(), array->values.data() + array->values.size()};
}
// One number for each of `count` dimensions; a single one stands for all.
inline std::vector<int64_t> list_for(const Plan& plan, const aclIntArray* array, const char* name,
                                     size_t count) {
  std::vector<int64_t> values = int_list(plan, array, name);
  if (values.size() == 1) values.assign(count, values[0]);
  if (values.size() != count)
    plan.invalid("'", name, "' has ", values.size(), " numbers, wanted 1 or ", count);
  return values;
}
// Sizes of windows and their like: from `least` up, and small enough for arithmetic.
inline void require_at_least(const Plan& plan, const std::vector<int64_t>& values, const char* name,
                             int64_t least) {
  for (const int64_t value : values)
    if (value < least || value > INT32_MAX)
      plan.invalid("'", name, "' holds ", value, ", wanted ", least, " to ", INT32_MAX);
}

// Whether the result at `index` is asked for; no mask asks for all.
inline bool wanted(const aclBoolArray* mask, size_t index) {
  return mask == nullptr || index >= mask->values.size() || mask->values[index] != 0;
}
inline std::string_view text_of(const char* text, std::string_view fallback) {
  return text == nullptr || *text == '\0' ? fallback : std::string_view(text);
}

// A result that may be NULL still counts as a parameter.
inline std::optional<Operand> optional_output(Plan& plan, const aclTensor* tensor, const char* name) {
  if (tensor == nullptr) return plan.optional_input(nullptr, name);
  return plan.output(tensor, name);
}
// The same for one that a mask may switch off.
inline std::optional<Operand> masked_output(Plan& plan, const aclTensor* tensor, const char* name,
                                            bool wanted) {
  const std::optional<Operand> result = optional_output(plan, tensor, name);
  if (wanted && !result) plan.null_argument(name);
  return wanted ? result : std::nullopt;
}
// Clients pass a tensor without elements where they have nothing to say.
inline std::optional<Operand> unless_empty(const std::optional<Operand>& operand) {
  return operand && operand->numel() > 0 ? operand : std::nullopt;
}

// A parameter has one number for each place in a row, a statistic one for each row.
inline void require_count(const Plan& plan, const std::optional<Operand>& operand, const char* name,
                          int64_t count) {
  if (operand && operand->numel() != count)
    plan.invalid("tensor '", name, "' has shape ", shape_text(*operand), ", wanted ", count, " elements");
}

inline mt::kernels::Reduction reduction_of(const Plan& plan, int64_t reduction) {
  switch (reduction) {
    case 0: return mt::kernels::Reduction::none;
    case 1: return mt::kernels::Reduction::mean;
    case 2: return mt::kernels::Reduction::sum;
    default: plan.invalid("reduction is ", reduction, ", wanted 0 (none), 1 (mean) or 2 (sum)");
  }
}
inline mt::kernels::Reduction reduction_of(const Plan& plan, std::string_view reduction) {
  if (reduction == "none") return mt::kernels::Reduction::none;
  if (reduction == "mean") return mt::kernels::Reduction::mean;
  if (reduction == "sum") return mt::kernels::Reduction::sum;
  plan.invalid("reduction is '", reduction, "', wanted 'none', 'mean' or 'sum'");
}

// An optional operand as kernels take it: a view or null.
class OptionalView {
 public:
  OptionalView(const std::optional<Operand>& operand, const aclOpExecutor& executor) {
    if (operand) view_ = operand->view(executor), present_ = true;
  }
  OptionalView(const std::optional<Operand>&&, const aclOpExecutor&) = delete;  // the view points into it
  const View* get() const { return present_ ? &view_ : nullptr; }

 private:
  View view_{};
  bool present_ = false;
};

// An operand in dense memory of a dtype; absent ones stay null.
class OptionalDense {
 public:
  OptionalDense(const std::optional<Operand>& operand, const aclOpExecutor& executor,
                mt::kernels::Access access, std::optional<DType> dtype = std::nullopt) {
    if (operand) dense_.emplace(operand->view(executor), dtype.value_or(operand->dtype), access);
  }
  OptionalDense(const std::optional<Operand>&&, const aclOpExecutor&, mt::kernels::Access,
                std::optional<DType> = std::nullopt) = delete;  // the view points into it
  const View* get() const { return dense_ ? &dense_->view() : nullptr; }
  void store() const {
    if (dense_) dense_->store();
  }

 private:
  std::optional<mt::kernels::Dense> dense_;
};

// Dimensions in another order.
inline Operand permuted(const Operand& operand, std::initializer_list<int> order) {
  Operand result = operand;
  int next = 0;
  for (const int from : order) {
    result.sizes[next] = operand.sizes[from];
    result.strides[next++] = operand.strides[from];
  }
  return result;
}
// A dimension of size 1 more, before `dim`.
inline Operand unsqueezed(const Operand& operand, int dim) {
  Operand result = operand;
  ++result.ndim;
  for (int i = operand.ndim; i > dim; --i)
    result.sizes[i] = operand.sizes[i - 1], result.strides[i] = operand.strides[i - 1];
  result.sizes[dim] = 1, result.strides[dim] = 0;
  return result;
}
// The index-th part along a dimension, without that dimension.
inline Operand selected(const Operand& operand, int dim, int64_t index) {
  Operand result = operand;
  result.offset += index * operand.strides[dim] * int64_t(mt::itemsize(operand.dtype));
  --result.ndim;
  for (int i = dim; i < result.ndim; ++i)
    result.sizes[i] = operand.sizes[i + 1], result.strides[i] = operand.strides[i + 1];
  return result;
}
inline Operand narrowed(const Operand& operand, int dim, int64_t start, int64_t length) {
  Operand result = operand;
  result.offset += start * operand.strides[dim] * int64_t(mt::itemsize(operand.dtype));
  result.sizes[dim] = length;
  return result;
}
inline std::vector<int64_t> sizes_of(const Operand& operand) {
  return {operand.sizes, operand.sizes + operand.ndim};
}

}  // namespace softnpu::ops
