// The families for operators written by hand, with the parameters' usual names: self, other, out.
#pragma once

#include "kernels/elementwise/functors.h"
#include "ops/common/family.h"

namespace softnpu::ops {

namespace k = mt::kernels;

template <class Op, class... Numbers>
void unary(Plan& plan, const aclTensor* self, const aclTensor* out, const Numbers&... numbers) {
  family::unary<Op>(plan, family::Argument<aclTensor>{self, "self"},
                    std::array<Scalar, sizeof...(numbers)>{Scalar(numbers)...},
                    family::Argument<aclTensor>{out, "out"});
}

// self and other: a tensor and a tensor, a tensor and a number, or a number and a tensor.
template <class Op, class Left, class Right, class... Numbers>
void binary(Plan& plan, const Left* self, const Right* other, const aclTensor* out,
            const Numbers&... numbers) {
  family::binary<Op>(plan, family::Argument<Left>{self, "self"}, family::Argument<Right>{other, "other"},
                     std::array<Scalar, sizeof...(numbers)>{Scalar(numbers)...},
                     family::Argument<aclTensor>{out, "out"});
}

// A gradient and what the forward saw or gave.
template <class Op, class... Numbers>
void backward(Plan& plan, const aclTensor* grad, const aclTensor* saved, const aclTensor* out,
              const Numbers&... numbers) {
  family::binary<Op>(
      plan, family::Argument<aclTensor>{grad, "gradOutput"}, family::Argument<aclTensor>{saved, "self"},
      std::array<Scalar, sizeof...(numbers)>{Scalar(numbers)...}, family::Argument<aclTensor>{out, "out"});
}

}  // namespace softnpu::ops
