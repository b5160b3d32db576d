// The loops of normalisations over dense memory of floating dtypes; half types are computed in float. What they have
// in common (running statistics, groups, the arithmetic per channel) is composed from them by the backend.
#pragma once

#include "kernels/view.h"

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

}  // namespace mt::kernels
