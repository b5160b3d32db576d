// Instantiations of the functors that no row of a family names: those called by hand in the CPU backend and by the
// operators of the emulated device.
#include "kernels/elementwise/elementwise_impl.h"
#include "kernels/elementwise/functors.h"

namespace mt::kernels {

template void unary<frexp_exponent_op>(const View&, const View&, const Scalar*);
template void unary<frexp_mantissa_op>(const View&, const View&, const Scalar*);
template void unary<gelu_op>(const View&, const View&, const Scalar*);
template void unary<gelu_tanh_op>(const View&, const View&, const Scalar*);
template void unary<logit_op>(const View&, const View&, const Scalar*);
template void unary<nan_to_num_op>(const View&, const View&, const Scalar*);
template void unary<pow_scalar_op>(const View&, const View&, const Scalar*);
template void unary<round_away_op>(const View&, const View&, const Scalar*);
template void unary<round_decimals_op>(const View&, const View&, const Scalar*);
template void unary<shrink_op>(const View&, const View&, const Scalar*);
template void unary<softsign_op>(const View&, const View&, const Scalar*);
template void unary<squared_relu_op>(const View&, const View&, const Scalar*);
template void unary<swish_op>(const View&, const View&, const Scalar*);

template void binary<add_relu_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<clipped_swiglu_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<elu_backward_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<fatrelu_mul_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<geglu_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<geglu_tanh_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<gelu_backward_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<gelu_tanh_backward_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<glu_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<isclose_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<log_sigmoid_backward_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<logit_backward_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<mul_no_nan_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<nextafter_bfloat16_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<nextafter_half_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<nextafter_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<prelu_weight_backward_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<softsign_backward_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<swiglu_op>(const View&, const View&, const View&, DType, const Scalar*);
template void binary<swish_backward_op>(const View&, const View&, const View&, DType, const Scalar*);

template void ternary<addcdiv_op>(const View&, const View&, const View&, const View&, DType, const Scalar*);
template void ternary<addcmul_op>(const View&, const View&, const View&, const View&, DType, const Scalar*);
template void ternary<geglu_gate_backward_op>(const View&, const View&, const View&, const View&, DType,
                                              const Scalar*);
template void ternary<geglu_tanh_gate_backward_op>(const View&, const View&, const View&, const View&, DType,
                                                   const Scalar*);
template void ternary<glu_gate_backward_op>(const View&, const View&, const View&, const View&, DType,
                                            const Scalar*);
template void ternary<glu_value_backward_op>(const View&, const View&, const View&, const View&, DType,
                                             const Scalar*);
template void ternary<lerp_op>(const View&, const View&, const View&, const View&, DType, const Scalar*);
template void ternary<prelu_backward_op>(const View&, const View&, const View&, const View&, DType,
                                         const Scalar*);
template void ternary<swiglu_gate_backward_op>(const View&, const View&, const View&, const View&, DType,
                                               const Scalar*);
template void ternary<swiglu_value_backward_op>(const View&, const View&, const View&, const View&, DType,
                                                const Scalar*);

}  // namespace mt::kernels
