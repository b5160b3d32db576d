// Normalisations of floating dtypes; half types are computed in float. Batch and group normalisation take any strides;
// the loops they and others are composed from work on dense memory.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// Each of `rows` rows of `length` elements gets mean 0 and variance 1, then weight and bias (either may be null).
void layer_norm(const View& in, const View* weight, const View* bias, const View& out, const View& mean,
                const View& rstd, int64_t rows, int64_t length, double eps);
// Any of the three results may be null.
void layer_norm_backward(const View& grad, const View& in, const View& mean, const View& rstd,
                         const View* weight, const View* grad_in, const View* grad_weight,
                         const View* grad_bias, int64_t rows, int64_t length);

// Memory as batch × channels × space, or batch × space × channels when the channels lie inside.
struct ChannelLayout {
  int64_t batch, channels, space;
  bool channels_inside;
  int64_t numel() const { return batch * channels * space; }
};

// Mean and variance (divided by the count) of each channel.
void channel_moments(const View& in, const ChannelLayout& layout, double* mean, double* variance);
// out = in * scale + shift, by channel.
void channel_affine(const View& in, const View& out, const ChannelLayout& layout, const double* scale,
                    const double* shift);
// The sums of grad and of grad * (in - center), by channel.
void channel_products(const View& grad, const View& in, const ChannelLayout& layout, const double* center,
                      double* sums, double* products);
// out = grad * a + in * b + c, by channel.
void channel_blend(const View& grad, const View& in, const View& out, const ChannelLayout& layout,
                   const double* a, const double* b, const double* c);

// Each row divided by the root of its mean square, times weight (+ offset, as some models store weight - 1). Dense;
// rstd receives one over the root.
void rms_norm(const View& in, const View* weight, double offset, const View& out, const View& rstd,
              int64_t rows, int64_t length, double eps);
void rms_norm_backward(const View& grad, const View& in, const View& rstd, const View* weight, double offset,
                       const View* grad_in, const View* grad_weight, int64_t rows, int64_t length);

struct BatchNormOptions {
  bool training;
  double momentum, eps;
};

// in is [batch, channels, space...]. Parameters and statistics have one element per channel, of any floating dtype; all
// but in and out may be null. Statistics of the batch are used and saved, and the running ones updated, if training.
void batch_norm(const View& in, const View* weight, const View* bias, const View* running_mean,
                const View* running_var, BatchNormOptions options, const View& out, const View* save_mean,
                const View* save_invstd);
// mean and spread are the saved mean and one over the deviation if training, the running mean and variance else.
void batch_norm_backward(const View& grad, const View& in, const View* weight, const View& mean,
                         const View& spread, BatchNormOptions options, const View* grad_in,
                         const View* grad_weight, const View* grad_bias);

// in is dense in row-major order: batch x channels x space elements; mean and rstd have batch x groups. The results of
// the backward pass may be null.
struct GroupNormShape {
  int64_t batch, channels, space, groups;
};
void group_norm(const View& in, const View* weight, const View* bias, const GroupNormShape& shape, double eps,
                const View& out, const View* mean, const View* rstd);
void group_norm_backward(const View& grad, const View& in, const View& mean, const View& rstd,
                         const View* weight, const GroupNormShape& shape, const View* grad_in,
                         const View* grad_weight, const View* grad_bias);

}  // namespace mt::kernels
