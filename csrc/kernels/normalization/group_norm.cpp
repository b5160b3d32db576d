// Group normalisation. A group's planes are channels of their own to the loops of channel_norm.cpp; what the group has in
// common is merged from them.
#include <cmath>

#include "kernels/common/dense.h"
#include "kernels/normalization/normalization.h"

namespace mt::kernels {

void group_norm(const View& in, const View* weight, const View* bias, const GroupNormShape& shape, double eps,
                const View& out, const View* mean, const View* rstd) {
  const int64_t n = shape.batch, c = shape.channels, group = shape.groups, each = c / group;
  const ChannelLayout planes{1, n * c, shape.space, false};
  std::vector<double> centers(size_t(n * c)), variances(size_t(n * c)), scale(size_t(n * c)),
      shift(size_t(n * c));
  channel_moments(in, planes, centers.data(), variances.data());
  const std::vector<double> w = numbers_or(weight, c, 1), b = numbers_or(bias, c, 0);
  std::vector<double> means(size_t(n * group)), rstds(size_t(n * group));
  for (int64_t g = 0; g < n * group; ++g) {
    const int64_t first = g * each;
    double center = 0, spread = 0;
    for (int64_t i = first; i < first + each; ++i) center += centers[size_t(i)] / double(each);
    for (int64_t i = first; i < first + each; ++i) {
      const double gap = centers[size_t(i)] - center;
      spread += (variances[size_t(i)] + gap * gap) / double(each);
    }
    const double factor = 1 / std::sqrt(spread + eps);
    means[size_t(g)] = center;
    rstds[size_t(g)] = factor;
    for (int64_t i = first; i < first + each; ++i) {
      scale[size_t(i)] = factor * w[size_t(i % c)];
      shift[size_t(i)] = b[size_t(i % c)] - center * scale[size_t(i)];
    }
  }
  channel_affine(in, out, planes, scale.data(), shift.data());
  put_numbers(means, mean);
  put_numbers(rstds, rstd);
}

void group_norm_backward(const View& grad, const View& in, const View& mean, const View& rstd,
                         const View* weight, const GroupNormShape& shape, const View* grad_in,
                         const View* grad_weight, const View* grad_bias) {
  const int64_t n = shape.batch, c = shape.channels, group = shape.groups, each = c / group;
  const ChannelLayout planes{1, n * c, shape.space, false};
  const std::vector<double> means = numbers(mean), rstds = numbers(rstd), w = numbers_or(weight, c, 1);
  std::vector<double> centers(size_t(n * c)), sums(size_t(n * c)), products(size_t(n * c));
  for (int64_t i = 0; i < n * c; ++i) centers[size_t(i)] = means[size_t(i / each)];
  channel_products(grad, in, planes, centers.data(), sums.data(), products.data());
  if (grad_in) {
    std::vector<double> a(size_t(n * c)), b(size_t(n * c)), constant(size_t(n * c));
    for (int64_t g = 0; g < n * group; ++g) {
      const double factor = rstds[size_t(g)], count = double(each * shape.space);
      double total = 0, slope = 0;
      for (int64_t i = g * each; i < (g + 1) * each; ++i) {
        total += sums[size_t(i)] * w[size_t(i % c)] / count;
        slope += products[size_t(i)] * w[size_t(i % c)] * factor / count;
      }
      for (int64_t i = g * each; i < (g + 1) * each; ++i) {
        a[size_t(i)] = factor * w[size_t(i % c)];
        b[size_t(i)] = -factor * factor * slope;
        constant[size_t(i)] = -factor * total - b[size_t(i)] * means[size_t(g)];
      }
    }
    channel_blend(grad, in, *grad_in, planes, a.data(), b.data(), constant.data());
  }
  std::vector<double> to_weight(static_cast<size_t>(c)), to_bias(static_cast<size_t>(c));
  for (int64_t i = 0; i < n * c; ++i) {
    to_weight[size_t(i % c)] += products[size_t(i)] * rstds[size_t(i / each)];
    to_bias[size_t(i % c)] += sums[size_t(i)];
  }
  put_numbers(to_weight, grad_weight);
  put_numbers(to_bias, grad_bias);
}

}  // namespace mt::kernels
