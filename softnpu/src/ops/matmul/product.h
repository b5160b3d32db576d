// Products of matrices and equal batches of them, as operands; shared by the operators that are one.
#pragma once

#include "ops/common/views.h"

namespace softnpu::ops {

// out = alpha * a @ b [+ beta * self]; two dimensions, or three with a batch. Self broadcasts to out.
struct Product {
  Operand a, b, out;
  std::optional<Operand> self;
  Scalar alpha = Scalar(1), beta = Scalar(1);
  const char* a_name = "mat1";  // for messages

  // Refuses what does not multiply, and leaves the product to the stream.
  void run(Plan& plan) const;
};

// How much precision the card may give up for speed: here, none.
void require_cube_math_type(const Plan& plan, int8_t cubeMathType);

// A vector as a matrix of one row or one column.
Operand as_row(const Plan& plan, const Operand& vector, const char* name);
Operand as_column(const Plan& plan, const Operand& vector, const char* name);

}  // namespace softnpu::ops
