// Kernels the tests call that no row of the operator table asks for.
#include "kernels/elementwise/elementwise_impl.h"
#include "kernels/elementwise/functors.h"

namespace mt::kernels {

template void unary<clamp_op>(const View&, const View&, const Scalar*);
template void unary<pow_scalar_op>(const View&, const View&, const Scalar*);

}  // namespace mt::kernels
