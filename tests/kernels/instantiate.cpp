// Instantiations of the kernels these tests call.
#include "kernels/elementwise_impl.h"
#include "kernels/functors.h"
#include "kernels/reduce_impl.h"

namespace mt::kernels {

#define UNARY(op) template void unary<op>(const View&, const View&, const Scalar*);
UNARY(neg_op)
UNARY(abs_op)
UNARY(exp_op) UNARY(log_op) UNARY(tanh_op) UNARY(sigmoid_op) UNARY(erf_op) UNARY(expm1_op) UNARY(log1p_op)
    UNARY(round_op) UNARY(relu_op) UNARY(clamp_op) UNARY(sign_op) UNARY(pow_scalar_op) UNARY(bitwise_not_op)
        UNARY(sin_op) UNARY(cos_op)
#define PREDICATE(op) template void predicate<op>(const View&, const View&);
            PREDICATE(isnan_op) PREDICATE(logical_not_op)
#define BINARY(op) template void binary<op>(const View&, const View&, const View&, DType, const Scalar*);
                BINARY(add_op) BINARY(sub_op) BINARY(mul_op) BINARY(div_op) BINARY(pow_op) BINARY(maximum_op)
                    BINARY(minimum_op) BINARY(remainder_op) BINARY(fmod_op) BINARY(floor_divide_op)
                        BINARY(threshold_backward_op) BINARY(tanh_backward_op)
#define COMPARE(op) template void compare<op>(const View&, const View&, const View&, DType);
                            COMPARE(eq_op) COMPARE(lt_op) COMPARE(logical_and_op)
#define REDUCE(op) template void reduce<op>(const View&, const View&);
                                REDUCE(sum_op) REDUCE(mean_op) REDUCE(prod_op) REDUCE(amax_op) REDUCE(amin_op)
                                    REDUCE(any_op) REDUCE(all_op)

}  // namespace mt::kernels
