// Shape and dtype rules, written once for every device: what they allocate on `meta` is the meta backend.
//
// A rule ends in Output::prepare(sizes, dtype, …), which allocates a fresh result, or checks (in-place) or
// resizes (out=) the tensor the caller gave.
#pragma once

#include "core/dispatch.h"
#include "core/generator.h"

namespace mt::infer {

enum class Rule : uint8_t {
  same,
  promote,
  to_float,
  boolean,
  numeric,
  sum,
  floating,
  with_scalar,
  to_real,
  to_real_float
};

class Output {
 public:
  Output() = default;  // a fresh tensor
  static Output inplace(const Tensor& self) { return {self, Mode::inplace}; }
  static Output into(const Tensor& out) { return {out, Mode::out}; }

  // `like`: a tensor whose dense, permuted strides the result takes over; may be null.
  void prepare(IntList sizes, DType dtype, Device device, const Tensor* like = nullptr);
  Tensor take() { return std::move(fresh_); }
  bool is_inplace() const { return mode_ == Mode::inplace; }

 private:
  enum class Mode : uint8_t { fresh, inplace, out };
  Output(const Tensor& tensor, Mode mode) : existing_(&tensor), mode_(mode) {}
  void prepare_existing(IntList sizes, DType dtype, Device device);

  Tensor fresh_;
  const Tensor* existing_ = nullptr;  // the caller's; not counted, because it outlives the call
  Mode mode_ = Mode::fresh;
};

// ---- dtypes ----
DType promoted_type(const Tensor& a, const Tensor& b);
inline DType result_type(const Tensor& a, const Tensor& b) {
  const bool plain = !a.impl()->wrapped_number && !b.impl()->wrapped_number;
  return plain && a.dtype() == b.dtype() ? a.dtype() : promoted_type(a, b);
}
DType result_type(const Tensor& a, const Scalar& b);
DType result_type(TensorList tensors);
inline DType float_if_integral(DType t) { return is_integral(t, true) ? default_dtype() : t; }
// The type an elementwise kernel computes in.
template <class B>
DType compute_type(const Tensor& a, const B& b, Rule rule) {
  const DType t = result_type(a, b);
  return rule == Rule::to_float ? float_if_integral(t) : t;
}

// ---- shapes ----
Dims broadcast(IntList a, IntList b);
// Makes a 0-dim CPU operand meet the other's device; anything else on two devices is an error.
void bring_together(const Tensor*& a, const Tensor*& b, Tensor& moved);
void check_same_device(std::initializer_list<const Tensor*> tensors);
// In-place writes through overlapping memory (an expanded dimension) have no meaning.
void check_written_once(const Tensor& t);
void refuse_partial_overlap(const Tensor& written, const Tensor& read);
inline void check_no_partial_overlap(const Tensor& written, const Tensor& read) {
  if (written.impl()->storage == read.impl()->storage && written.impl() != read.impl()) [[unlikely]]
    refuse_partial_overlap(written, read);
}
// A number that the dtype cannot hold is an error where one value fills a tensor.
void check_fits(const Tensor& self, const Scalar& value);
// What arithmetic refuses of booleans, and of an alpha that does not suit its operands.
void check_alpha(DType result, const Scalar& alpha);
void check_subtraction(bool left, bool right);
template <class B>
void check_add(const Tensor& self, const B& other, const Scalar& alpha) {
  if (alpha.category() != Category::integral || !alpha.equals(1))
    check_alpha(result_type(self, other), alpha);
}
inline bool is_boolean(const Tensor& t) { return t.dtype() == DType::boolean; }
inline bool is_boolean(const Scalar& s) { return s.category() == Category::boolean; }
template <class B>
void check_sub(const Tensor& self, const B& other, const Scalar& alpha) {
  if (is_boolean(self) || is_boolean(other)) [[unlikely]]
    check_subtraction(is_boolean(self), is_boolean(other));
  check_add(self, other, alpha);
}
void check_random_range(const Tensor& self, int64_t from, std::optional<int64_t> to,
                        const Generator* generator);
void check_negation(const Tensor& self);
void check_inversion(const Tensor& self);
void check_power(const Tensor& self, const Scalar& exponent);
inline void check_power(const Tensor&, const Tensor&) {}  // exponents of a tensor are not read on the host
Dims reduced_shape(IntList sizes, const DimList& dims, bool keepdim);
uint64_t dim_mask(const DimList& dims, int64_t ndim);  // bit d set: dimension d is reduced

// ---- families ----
void unary(const Tensor& self, Rule rule, Output& out);
void unary(const Tensor& self, const Scalar& number, Rule rule, Output& out);
void binary(const Tensor& a, const Tensor& b, Rule rule, Output& out);
void binary(const Tensor& a, const Scalar& b, Rule rule, Output& out);
void reduce(const Tensor& self, const DimList& dim, bool keepdim, std::optional<DType> dtype, Rule rule,
            Output& out);

// ---- single operators (the table's `infer:` column) ----
void arg_reduce(const Tensor& self, std::optional<int64_t> dim, bool keepdim, Output& out);
void extremum_dim(const Tensor& self, int64_t dim, bool keepdim, Output& values, Output& indices);
void cat(TensorList tensors, int64_t dim, Output& out);
void mm(const Tensor& self, const Tensor& mat2, Output& out);
void bmm(const Tensor& self, const Tensor& mat2, Output& out);
void addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
           const Scalar& alpha, Output& out);
void softmax(const Tensor& self, int64_t dim, bool half_to_float, Output& out);
void softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType input_dtype, Output& out);
void nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
              int64_t ignore_index, Output& output, Output& total_weight);
void nll_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
                       int64_t reduction, int64_t ignore_index, const Tensor& total_weight, Output& out);
void clone(const Tensor& self, std::optional<MemoryFormat> format, Output& out);
void to_copy(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device, bool non_blocking,
             std::optional<MemoryFormat> format, Output& out);
void where(const Tensor& condition, const Tensor& self, const Tensor& other, Output& out);
void copy_into(const Tensor& self, const Tensor& src, bool non_blocking);

// Strides of a dense tensor in the given format.
Dims strides_for(IntList sizes, MemoryFormat format);

}  // namespace mt::infer

#include "infer/rules_activation.h"
#include "infer/rules_complex.h"
#include "infer/rules_index.h"
#include "infer/rules_linalg.h"
#include "infer/rules_lists.h"
#include "infer/rules_nn.h"
#include "infer/rules_normalization.h"
#include "infer/rules_recurrent.h"
#include "infer/rules_reduce.h"
#include "infer/rules_shape.h"
#include "infer/rules_special.h"
