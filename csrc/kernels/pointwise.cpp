// Instantiations of the functors that no row of a family names: those called by hand in the CPU backend.
#include "kernels/elementwise_impl.h"
#include "kernels/functors.h"

namespace mt::kernels {

template void unary<frexp_exponent_op>(const View&, const View&, const Scalar*);
template void unary<frexp_mantissa_op>(const View&, const View&, const Scalar*);
template void unary<gelu_op>(const View&, const View&, const Scalar*);
template void unary<gelu_tanh_op>(const View&, const View&, const Scalar*);
template void unary<logit_op>(const View&, const View&, const Scalar*);
template void unary<nan_to_num_op>(const View&, const View&, const Scalar*);
template void unary<round_decimals_op>(const View&, const View&, const Scalar*);

template void binary<elu_backward_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<gelu_backward_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<gelu_tanh_backward_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<nextafter_bfloat16_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<nextafter_half_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<nextafter_op>(const View&, const View&, const View&, DType, const Scalar*);

template void ternary<addcdiv_op>(const View&, const View&, const View&, const View&, DType, const Scalar*);
template void ternary<addcmul_op>(const View&, const View&, const View&, const View&, DType, const Scalar*);
template void ternary<lerp_op>(const View&, const View&, const View&, const View&, DType, const Scalar*);

}  // namespace mt::kernels
