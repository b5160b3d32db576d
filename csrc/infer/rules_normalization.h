// Rules of the normalisations. Included by infer.h. The third argument group of the backward rules, `needs`, is a
// bit mask: gradients of the input (1), the weight (2) and the bias (4); the others come out empty.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

// The last dimensions of the input must be `shape`, and so must a parameter's.
void check_normalized_shape(const Tensor& input, IntList shape);
void check_shape_like(const char* name, const Tensor& parameter, IntList shape);
void layer_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight, const Tensor& bias,
                double eps, Output& out, Output& mean, Output& rstd);
void layer_norm_backward(const Tensor& grad, const Tensor& input, IntList normalized_shape,
                         const Tensor& mean, const Tensor& rstd, const Tensor& weight, int64_t needs,
                         Output& grad_input, Output& grad_weight, Output& grad_bias);
void group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t n, int64_t c,
                int64_t hxw, int64_t group, double eps, Output& out, Output& mean, Output& rstd);
void group_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight, int64_t n, int64_t c, int64_t hxw, int64_t group,
                         int64_t needs, Output& grad_input, Output& grad_weight, Output& grad_bias);
void batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                const Tensor& running_var, bool training, double momentum, double eps, Output& out,
                Output& save_mean, Output& save_invstd);
void batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                         const Tensor& running_mean, const Tensor& running_var, const Tensor& save_mean,
                         const Tensor& save_invstd, bool training, double eps, int64_t needs,
                         Output& grad_input, Output& grad_weight, Output& grad_bias);

}  // namespace mt::infer
