// Layer, group and batch normalisation on the CPU: statistics and the arithmetic per channel around the loops of
// kernels/normalize.h.
#include <cmath>

#include "backends/cpu/view.h"
#include "generated/cpu/kernels.h"
#include "kernels/normalize.h"

namespace mt::cpu {
namespace {

using kernels::ChannelLayout;

// An optional tensor as a kernel takes it.
struct OptionalView {
  Tensor tensor;
  kernels::View seen{};
  explicit OptionalView(const Tensor& t, bool wanted = true) {
    if (!wanted || !t.defined()) return;
    tensor = dense(t);
    seen = view(tensor);
  }
  const kernels::View* get() const { return tensor.defined() ? &seen : nullptr; }
};

// Small vectors of statistics and parameters are handled in double.
std::vector<double> numbers(const Tensor& t) {
  std::vector<double> out(size_t(t.numel()));
  const int64_t size = t.numel(), stride = 1;
  const Tensor flat = dense(t);
  kernels::copy({flat.data(), &size, &stride, 1, flat.dtype()},
                {out.data(), &size, &stride, 1, DType::float64});
  return out;
}
std::vector<double> numbers_or(const Tensor& t, int64_t n, double fallback) {
  return t.defined() ? numbers(t) : std::vector<double>(size_t(n), fallback);
}
void put(std::vector<double>& values, const Tensor& t) {
  Dims strides(t.sizes().size());
  contiguous_strides(t.sizes(), strides.data());
  kernels::copy({values.data(), t.impl()->sizes(), strides.data(), int(t.dim()), DType::float64}, view(t));
}

bool channels_inside(const Tensor& t) {
  return !t.is_contiguous() && ((t.dim() == 4 && t.is_contiguous(MemoryFormat::channels_last)) ||
                                (t.dim() == 5 && t.is_contiguous(MemoryFormat::channels_last_3d)));
}

// The layout of a batch, and the tensors as dense memory in that layout.
ChannelLayout layout_of(const Tensor& input) {
  const int64_t batch = input.sizes()[0], channels = input.sizes()[1];
  const int64_t each = batch * channels;
  return {batch, channels, each ? input.numel() / each : 0, channels_inside(input)};
}
Tensor in_layout(const Tensor& t, const Tensor& like) {
  if (!channels_inside(like)) return dense(t);
  if (std::ranges::equal(t.strides(), like.strides())) return t;
  const Tensor copy = new_tensor_strided(like.sizes(), like.strides(), t.dtype(), t.device());
  kernels::copy(view(t), view(copy));
  return copy;
}

void update(const Tensor& running, const std::vector<double>& fresh, double factor, double momentum) {
  if (!running.defined()) return;
  std::vector<double> values = numbers(running);
  for (size_t c = 0; c < values.size(); ++c)
    values[c] = momentum * fresh[c] * factor + (1 - momentum) * values[c];
  put(values, running);
}

}  // namespace

void layer_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight, const Tensor& bias,
                double eps, const Tensor& out, const Tensor& mean, const Tensor& rstd) {
  const Tensor x = dense(input);
  const OptionalView w(weight), b(bias);
  kernels::layer_norm(view(x), w.get(), b.get(), view(out), view(mean), view(rstd), mean.numel(),
                      checked_numel(normalized_shape), eps);
}

void layer_norm_backward(const Tensor& grad, const Tensor& input, IntList normalized_shape,
                         const Tensor& mean, const Tensor& rstd, const Tensor& weight, int64_t needs,
                         const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias) {
  const Tensor g = dense(grad), x = dense(input), center = dense(mean), scale = dense(rstd);
  const OptionalView w(weight), dx(grad_input, needs & 1), dw(grad_weight, needs & 2),
      db(grad_bias, needs & 4);
  kernels::layer_norm_backward(view(g), view(x), view(center), view(scale), w.get(), dx.get(), dw.get(),
                               db.get(), mean.numel(), checked_numel(normalized_shape));
}

// A group's planes are channels of their own here; what the group has in common is merged from them.
void group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t n, int64_t c,
                int64_t hxw, int64_t group, double eps, const Tensor& out, const Tensor& mean,
                const Tensor& rstd) {
  const Tensor x = dense(input);
  const ChannelLayout planes{1, n * c, hxw, false};
  const int64_t each = c / group;
  std::vector<double> centers(size_t(n * c)), variances(size_t(n * c)), scale(size_t(n * c)),
      shift(size_t(n * c));
  kernels::channel_moments(view(x), planes, centers.data(), variances.data());
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
  kernels::channel_affine(view(x), view(out), planes, scale.data(), shift.data());
  put(means, mean);
  put(rstds, rstd);
}

void group_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight, int64_t n, int64_t c, int64_t hxw, int64_t group,
                         int64_t needs, const Tensor& grad_input, const Tensor& grad_weight,
                         const Tensor& grad_bias) {
  const Tensor dy = dense(grad), x = dense(input);
  const ChannelLayout planes{1, n * c, hxw, false};
  const int64_t each = c / group;
  const std::vector<double> means = numbers(mean), rstds = numbers(rstd), w = numbers_or(weight, c, 1);
  std::vector<double> centers(size_t(n * c)), sums(size_t(n * c)), products(size_t(n * c));
  for (int64_t i = 0; i < n * c; ++i) centers[size_t(i)] = means[size_t(i / each)];
  kernels::channel_products(view(dy), view(x), planes, centers.data(), sums.data(), products.data());
  if (needs & 1) {
    std::vector<double> a(size_t(n * c)), b(size_t(n * c)), constant(size_t(n * c));
    for (int64_t g = 0; g < n * group; ++g) {
      const double factor = rstds[size_t(g)], count = double(each * hxw);
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
    kernels::channel_blend(view(dy), view(x), view(grad_input), planes, a.data(), b.data(), constant.data());
  }
  std::vector<double> to_weight(static_cast<size_t>(c)), to_bias(static_cast<size_t>(c));
  for (int64_t i = 0; i < n * c; ++i) {
    to_weight[size_t(i % c)] += products[size_t(i)] * rstds[size_t(i / each)];
    to_bias[size_t(i % c)] += sums[size_t(i)];
  }
  if (needs & 2) put(to_weight, grad_weight);
  if (needs & 4) put(to_bias, grad_bias);
}

void batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                const Tensor& running_var, bool training, double momentum, double eps, const Tensor& out,
                const Tensor& save_mean, const Tensor& save_invstd) {
  const Tensor x = in_layout(input, input);
  const ChannelLayout layout = layout_of(input);
  const size_t channels = size_t(layout.channels);
  std::vector<double> mean, variance;
  if (training) {
    mean.resize(channels);
    variance.resize(channels);
    kernels::channel_moments(view(x), layout, mean.data(), variance.data());
    const double count = double(layout.batch * layout.space);
    update(running_mean, mean, 1, momentum);
    update(running_var, variance, count / (count - 1), momentum);
  } else {
    mean = numbers(running_mean);
    variance = numbers(running_var);
  }
  const std::vector<double> w = numbers_or(weight, layout.channels, 1),
                            b = numbers_or(bias, layout.channels, 0);
  std::vector<double> invstd(channels), scale(channels), shift(channels);
  for (size_t c = 0; c < channels; ++c) {
    invstd[c] = 1 / std::sqrt(variance[c] + eps);
    scale[c] = invstd[c] * w[c];
    shift[c] = b[c] - mean[c] * scale[c];
  }
  kernels::channel_affine(view(x), view(out), layout, scale.data(), shift.data());
  if (!training) return;
  put(mean, save_mean);
  put(invstd, save_invstd);
}

void batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                         const Tensor& running_mean, const Tensor& running_var, const Tensor& save_mean,
                         const Tensor& save_invstd, bool training, double eps, int64_t needs,
                         const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias) {
  const Tensor x = in_layout(input, input), dy = in_layout(grad, input);
  const ChannelLayout layout = layout_of(input);
  const size_t channels = size_t(layout.channels);
  const std::vector<double> mean = numbers(training ? save_mean : running_mean);
  std::vector<double> invstd = numbers(training ? save_invstd : running_var);
  if (!training)
    for (double& v : invstd) v = 1 / std::sqrt(v + eps);
  std::vector<double> sums(channels), products(channels);
  if (training || needs & 6)
    kernels::channel_products(view(dy), view(x), layout, mean.data(), sums.data(), products.data());
  if (needs & 1) {
    const std::vector<double> w = numbers_or(weight, layout.channels, 1);
    std::vector<double> a(channels), b(channels), constant(channels);
    const double count = double(layout.batch * layout.space);
    for (size_t c = 0; c < channels; ++c) {
      a[c] = invstd[c] * w[c];
      b[c] = -a[c] * invstd[c] * invstd[c] * products[c] / count;
      constant[c] = -a[c] * sums[c] / count - b[c] * mean[c];
    }
    // In evaluation the statistics are constants.
    if (training)
      kernels::channel_blend(view(dy), view(x), view(grad_input), layout, a.data(), b.data(),
                             constant.data());
    else
      kernels::channel_affine(view(dy), view(grad_input), layout, a.data(),
                              std::vector<double>(channels).data());
  }
  for (size_t c = 0; c < channels; ++c) products[c] *= invstd[c];
  if (needs & 2) put(products, grad_weight);
  if (needs & 4) put(sums, grad_bias);
}

}  // namespace mt::cpu
