// Batch normalisation: statistics and the arithmetic per channel around the loops of channel_norm.cpp.
#include <algorithm>
#include <cmath>

#include "kernels/common/dense.h"
#include "kernels/normalization/normalization.h"

namespace mt::kernels {
namespace {

// [N, C, space...] seen as [N, space..., C].
class ChannelsLast {
 public:
  explicit ChannelsLast(const View& v)
      : sizes_(v.sizes, v.sizes + v.ndim), strides_(v.strides, v.strides + v.ndim) {
    std::rotate(sizes_.begin() + 1, sizes_.begin() + 2, sizes_.end());
    std::rotate(strides_.begin() + 1, strides_.begin() + 2, strides_.end());
    view_ = {v.data, sizes_.data(), strides_.data(), v.ndim, v.dtype};
  }
  ChannelsLast(const ChannelsLast&) = delete;
  ChannelsLast& operator=(const ChannelsLast&) = delete;
  const View& view() const { return view_; }

 private:
  std::vector<int64_t> sizes_, strides_;
  View view_;
};

ChannelLayout layout_of(const View& in) {
  const int64_t each = in.sizes[0] * in.sizes[1];
  int64_t numel;
  const bool inside = !is_dense(in, numel) && is_dense(ChannelsLast(in).view(), numel);
  return {in.sizes[0], in.sizes[1], each ? in.numel() / each : 0, inside};
}

// A tensor as dense memory in the layout.
class InLayout {
 public:
  InLayout(const View& v, const ChannelLayout& layout, Access access)
      : last_(v), dense_(layout.channels_inside ? last_.view() : v, v.dtype, access) {}
  const View& view() const { return dense_.view(); }
  void store() const { dense_.store(); }

 private:
  ChannelsLast last_;
  Dense dense_;
};

void update(const View* running, const std::vector<double>& fresh, double factor, double momentum) {
  if (!running) return;
  std::vector<double> values = numbers(*running);
  for (size_t c = 0; c < values.size(); ++c)
    values[c] = momentum * fresh[c] * factor + (1 - momentum) * values[c];
  put_numbers(values, running);
}

}  // namespace

void batch_norm(const View& in, const View* weight, const View* bias, const View* running_mean,
                const View* running_var, BatchNormOptions options, const View& out, const View* save_mean,
                const View* save_invstd) {
  const ChannelLayout layout = layout_of(in);
  const InLayout x(in, layout, Access::read), y(out, layout, Access::write);
  const size_t channels = size_t(layout.channels);
  std::vector<double> mean(channels), variance(channels);
  if (options.training) {
    channel_moments(x.view(), layout, mean.data(), variance.data());
    const double count = double(layout.batch * layout.space);
    update(running_mean, mean, 1, options.momentum);
    update(running_var, variance, count / (count - 1), options.momentum);
  } else {
    mean = numbers_or(running_mean, layout.channels, 0);
    variance = numbers_or(running_var, layout.channels, 1);
  }
  const std::vector<double> w = numbers_or(weight, layout.channels, 1),
                            b = numbers_or(bias, layout.channels, 0);
  std::vector<double> invstd(channels), scale(channels), shift(channels);
  for (size_t c = 0; c < channels; ++c) {
    invstd[c] = 1 / std::sqrt(variance[c] + options.eps);
    scale[c] = invstd[c] * w[c];
    shift[c] = b[c] - mean[c] * scale[c];
  }
  channel_affine(x.view(), y.view(), layout, scale.data(), shift.data());
  y.store();
  if (!options.training) return;
  put_numbers(mean, save_mean);
  put_numbers(invstd, save_invstd);
}

void batch_norm_backward(const View& grad, const View& in, const View* weight, const View& mean_view,
                         const View& spread, BatchNormOptions options, const View* grad_in,
                         const View* grad_weight, const View* grad_bias) {
  const ChannelLayout layout = layout_of(in);
  const InLayout x(in, layout, Access::read), dy(grad, layout, Access::read);
  const size_t channels = size_t(layout.channels);
  const std::vector<double> mean = numbers(mean_view);
  std::vector<double> invstd = numbers(spread);
  if (!options.training)
    for (double& v : invstd) v = 1 / std::sqrt(v + options.eps);
  std::vector<double> sums(channels), products(channels);
  if (options.training || grad_weight || grad_bias)
    channel_products(dy.view(), x.view(), layout, mean.data(), sums.data(), products.data());
  if (grad_in) {
    const InLayout dx(*grad_in, layout, Access::write);
    const std::vector<double> w = numbers_or(weight, layout.channels, 1);
    std::vector<double> a(channels), b(channels), constant(channels);
    const double count = double(layout.batch * layout.space);
    for (size_t c = 0; c < channels; ++c) {
      a[c] = invstd[c] * w[c];
      b[c] = -a[c] * invstd[c] * invstd[c] * products[c] / count;
      constant[c] = -a[c] * sums[c] / count - b[c] * mean[c];
    }
    // In evaluation the statistics are constants.
    if (options.training)
      channel_blend(dy.view(), x.view(), dx.view(), layout, a.data(), b.data(), constant.data());
    else channel_affine(dy.view(), dx.view(), layout, a.data(), std::vector<double>(channels).data());
    dx.store();
  }
  for (size_t c = 0; c < channels; ++c) products[c] *= invstd[c];
  put_numbers(products, grad_weight);
  put_numbers(sums, grad_bias);
}

}  // namespace mt::kernels
