#include "autograd/formulas/common.h"

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/unary.h"

namespace mt::formulas {

Tensor operator+(const Tensor& a, const Tensor& b) { return ops::add(a, b); }
Tensor operator+(const Tensor& a, const Scalar& b) { return ops::add(a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return ops::sub(a, b); }
Tensor operator-(const Scalar& a, const Tensor& b) { return ops::add(ops::neg(b), a); }
Tensor operator-(const Tensor& a) { return ops::neg(a); }
Tensor operator*(const Tensor& a, const Tensor& b) { return ops::mul(a, b); }
Tensor operator*(const Tensor& a, const Scalar& b) { return b.equals(1) ? a : ops::mul(a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return ops::div(a, b); }
Tensor operator/(const Tensor& a, const Scalar& b) { return b.equals(1) ? a : ops::div(a, b); }
Tensor operator<(const Tensor& a, const Tensor& b) { return ops::lt(a, b); }
Tensor operator>(const Tensor& a, const Tensor& b) { return ops::gt(a, b); }
Tensor operator<=(const Tensor& a, const Scalar& b) { return ops::le(a, b); }
Tensor operator>=(const Tensor& a, const Scalar& b) { return ops::ge(a, b); }

Tensor operator>(const Tensor& a, const Scalar& b) { return ops::gt(a, b); }

Dims spatial_sizes(IntList sizes) { return Dims(sizes.subspan(2)); }

}  // namespace mt::formulas
