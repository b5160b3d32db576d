// What an operator's row says of its tangents, and what the generated rules are written with.
#pragma once

#include <array>

#include "autograd/formulas/common.h"
#include "core/operators.h"

namespace mt {

// Tangents come as arguments do: a value each, None where there is none. Those of results likewise.
struct ForwardRule {
  Values (*tangents)(const Values& arguments, const Values& tangents, const Values& results);
  bool is_view = false;        // the results are windows on the first argument
  bool reads_written = false;  // what the operator in place overwrites is read
};

namespace forward {

// PyTorch's words for an operator, "aten::igamma", that tangents cannot go through.
inline constexpr const char* kNotImplemented = "it has not been implemented yet.";
[[noreturn]] void refuse(std::string_view op, const char* why);
[[noreturn]] inline Tensor not_implemented(std::string_view op) { refuse(op, kNotImplemented); }

inline const Tensor& tensor_in(const Value& value) { return Unboxed<const Tensor&>::from(value); }
// Zeros where the argument has no tangent; undefined where there is no argument.
Tensor tangent_or_zeros(const Value& tangent, const Tensor& argument);
std::vector<Tensor> tangent_or_zeros(const Value& tangent, TensorList arguments);

// The terms of a tangent, one for each argument that has one.
class Terms {
 public:
  void add(const Tensor& term);
  Value total() const;

 private:
  Tensor sum_;
};

// Of an operator on each element alone the gradient is grad * conj(f'), and the tangent t * f'.
template <class Formula>
Tensor of_each_element(const Tensor& tangent, const Tensor& result, Formula gradient) {
  if (!is_complex(tangent.dtype()) && !is_complex(result.dtype())) return gradient(tangent);
  return ops::conj_physical(gradient(ops::conj_physical(tangent)));
}

// Of an operator each of whose results depends on elements of its own: the gradient of ones is conj(f'), element by
// element, and the tangent is the sum of t * f' over those elements.
template <class Formula, class Sum>
Tensor of_own_elements(const Tensor& tangent, const Tensor& ones, Formula gradient, Sum sum) {
  using namespace mt::formulas;
  return sum(tangent * conjugate(gradient(ones)));
}

// The elements at `indices` of a dimension, which has gone unless it was kept.
Tensor picked(const Tensor& self, int64_t dim, const Tensor& indices, bool keepdim);

}  // namespace forward
}  // namespace mt
