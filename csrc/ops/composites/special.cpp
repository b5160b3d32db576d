// Special functions whose first operand is a number.
#include "generated/ops/composites/special.h"

#include "generated/ops/special.h"

namespace mt::composites {

#define MT_NUMBER_FIRST(NAME)                                  \
  Tensor NAME(const Scalar& number, const Tensor& other) {     \
    return ops::special_##NAME(wrapped_scalar(number), other); \
  }

MT_NUMBER_FIRST(zeta)
MT_NUMBER_FIRST(xlog1py)
MT_NUMBER_FIRST(chebyshev_polynomial_t)
MT_NUMBER_FIRST(chebyshev_polynomial_u)
MT_NUMBER_FIRST(chebyshev_polynomial_v)
MT_NUMBER_FIRST(chebyshev_polynomial_w)
MT_NUMBER_FIRST(shifted_chebyshev_polynomial_t)
MT_NUMBER_FIRST(shifted_chebyshev_polynomial_u)
MT_NUMBER_FIRST(shifted_chebyshev_polynomial_v)
MT_NUMBER_FIRST(shifted_chebyshev_polynomial_w)
MT_NUMBER_FIRST(hermite_polynomial_h)
MT_NUMBER_FIRST(hermite_polynomial_he)
MT_NUMBER_FIRST(laguerre_polynomial_l)
MT_NUMBER_FIRST(legendre_polynomial_p)

#undef MT_NUMBER_FIRST

}  // namespace mt::composites
