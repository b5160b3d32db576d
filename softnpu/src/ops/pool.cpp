// Averages and maxima over windows, and their gradients.
#include "kernels/pool/max.h"
#include "kernels/resample/resample.h"
#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

constexpr DTypeSet kIndices = k::dtype_set(DType::int32, DType::int64);

// The last dimensions of tensors of [C, space...] or [N, C, space...].
void require_planes(const Plan& plan, const Operand& operand, const char* name, int spatial) {
  if (operand.ndim != spatial + 1 && operand.ndim != spatial + 2)
    plan.invalid("tensor '", name, "' has shape ", shape_text(operand), ", wanted ", spatial + 1, " or ",
                 spatial + 2, " dimensions");
}
std::vector<int64_t> space_of(const Operand& operand, int spatial) {
  return {operand.sizes + operand.ndim - spatial, operand.sizes + operand.ndim};
}
std::vector<int64_t> with_space(const Operand& like, const std::vector<int64_t>& space) {
  std::vector<int64_t> sizes(like.sizes, like.sizes + like.ndim - int(space.size()));
  sizes.insert(sizes.end(), space.begin(), space.end());
  return sizes;
}

struct PoolOptions {
  std::vector<int64_t> kernel, stride, padding, dilation;

  PoolOptions(const Plan& plan, int spatial, const aclIntArray* kernel_size, const aclIntArray* strides,
              const aclIntArray* pads, const aclIntArray* dilations) {
    const size_t n = size_t(spatial);
    kernel = list_for(plan, kernel_size, "kernelSize", n);
    stride = optional_list(strides).empty() ? kernel : list_for(plan, strides, "stride", n);
    padding = list_for(plan, pads, "padding", n);
    dilation = dilations == nullptr ? std::vector<int64_t>(n, 1) : list_for(plan, dilations, "dilation", n);
    require_at_least(plan, kernel, "kernelSize", 1);
    require_at_least(plan, stride, "stride", 1);
    require_at_least(plan, padding, "padding", 0);
    require_at_least(plan, dilation, "dilation", 1);
    for (size_t i = 0; i < n; ++i)
      if (padding[i] > kernel[i] / 2)
        plan.invalid("'padding' holds ", padding[i], ", wanted at most half of the kernel's ", kernel[i]);
  }

  // The number of windows; the last one starts inside the input or its left padding.
  std::vector<int64_t> pooled(const Plan& plan, const std::vector<int64_t>& in, bool ceil) const {
    std::vector<int64_t> out;
    for (size_t i = 0; i < in.size(); ++i) {
      const int64_t room = in[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
      if (room < 0 && !(ceil && room + stride[i] > 0))
        plan.invalid("a window of ", kernel[i], " does not fit into ", in[i], " elements");
      int64_t count = (room + (ceil ? stride[i] - 1 : 0)) / stride[i] + 1;
      if (ceil && (count - 1) * stride[i] >= in[i] + padding[i]) --count;
      out.push_back(count);
    }
    return out;
  }

  std::vector<k::Taps> averages(const std::vector<int64_t>& in, const std::vector<int64_t>& out,
                                bool count_padding, int64_t divisor) const {
    std::vector<k::Taps> taps;
    for (size_t i = 0; i < in.size(); ++i) {
      // A given divisor divides once, whatever the number of dimensions.
      const int64_t divide = divisor == 0 || i == 0 ? divisor : 1;
      taps.push_back(k::window_taps(in[i], out[i], kernel[i], stride[i], padding[i], count_padding, divide));
    }
    return taps;
  }
  k::WindowSet windows(const std::vector<int64_t>& in, const std::vector<int64_t>& out) const {
    k::WindowSet set;
    for (size_t i = 0; i < in.size(); ++i)
      set[3 - in.size() + i] = k::fixed_windows(in[i], out[i], kernel[i], stride[i], padding[i], dilation[i]);
    return set;
  }
};

void average_pool(Plan& plan, int spatial, const aclTensor* self, const PoolOptions& options, bool ceil,
                  bool count_padding, int64_t divisor, const aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  require_planes(plan, in, "self", spatial);
  plan.require_dtype(in, "self", domains::real);
  plan.require_same_dtype(in, "self", to, "out");
  const std::vector<int64_t> from = space_of(in, spatial), pooled = options.pooled(plan, from, ceil);
  plan.require_shape(to, "out", with_space(in, pooled));
  plan.run([=](const aclOpExecutor& e) {
    k::resample(in.view(e), to.view(e), options.averages(from, pooled, count_padding, divisor),
                k::ToInteger::truncate);
  });
}

void average_pool_backward(Plan& plan, int spatial, const aclTensor* gradOutput, const aclTensor* self,
                           const PoolOptions& options, bool ceil, bool count_padding, int64_t divisor,
                           const aclTensor* gradInput) {
  const Operand grad = plan.input(gradOutput, "gradOutput"), in = plan.input(self, "self"),
                to = plan.output(gradInput, "gradInput");
  require_planes(plan, in, "self", spatial);
  plan.require_dtype(grad, "gradOutput", domains::floating);
  plan.require_same_dtype(grad, "gradOutput", to, "gradInput");
  plan.require_same_shape(in, "self", to, "gradInput");
  const std::vector<int64_t> from = space_of(in, spatial), pooled = options.pooled(plan, from, ceil);
  plan.require_shape(grad, "gradOutput", with_space(in, pooled));
  plan.run([=](const aclOpExecutor& e) {
    k::resample_transposed(grad.view(e), to.view(e), options.averages(from, pooled, count_padding, divisor));
  });
}

// `windows` for the sizes of the input and the result.
template <class WindowsFor>
void max_pool(Plan& plan, const Operand& in, const Operand& to, const std::optional<Operand>& indices,
              int spatial, const WindowsFor& windows) {
  plan.require_dtype(in, "self", domains::real);
  plan.require_same_dtype(in, "self", to, "out");
  if (indices) plan.require_same_shape(*indices, "indices", to, "out");
  if (indices) plan.require_dtype(*indices, "indices", kIndices);
  plan.run([=](const aclOpExecutor& e) {
    const View result = to.view(e);
    if (indices) {
      const k::Dense places(indices->view(e), DType::int64, k::Access::write);
      k::max_pool(in.view(e), result, places.view(), spatial, windows());
      places.store();
    } else {
      const k::Temporary places(sizes_of(to), DType::int64);
      k::max_pool(in.view(e), result, places.view(), spatial, windows());
    }
  });
}

void fixed_max_pool(Plan& plan, int spatial, const aclTensor* self, const PoolOptions& options, bool ceil,
                    const aclTensor* out, const aclTensor* indices) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  const std::optional<Operand> places = optional_output(plan, indices, "indices");
  require_planes(plan, in, "self", spatial);
  const std::vector<int64_t> from = space_of(in, spatial), pooled = options.pooled(plan, from, ceil);
  plan.require_shape(to, "out", with_space(in, pooled));
  max_pool(plan, in, to, places, spatial, [=] { return options.windows(from, pooled); });
}

// Values go to (from) the places that the indices name in each plane.
void move_by_indices(Plan& plan, const Operand& values, const Operand& indices, const Operand& to,
                     int spatial, bool scatter, bool accumulate) {
  require_planes(plan, values, "self", spatial);
  require_planes(plan, to, "out", spatial);
  plan.require_dtype(indices, "indices", kIndices);
  plan.require_dtype(values, "self", domains::numeric);
  plan.require_same_dtype(values, "self", to, "out");
  plan.require_same_shape(indices, "indices", scatter ? values : to, "self");
  if (values.ndim != to.ndim || !std::equal(to.sizes, to.sizes + to.ndim - spatial, values.sizes))
    plan.invalid("a tensor of shape ", shape_text(values), " does not fit a result of shape ",
                 shape_text(to));
  plan.run([=](const aclOpExecutor& e) {
    const k::Dense places(indices.view(e), DType::int64, k::Access::read);
    if (scatter) k::plane_scatter(values.view(e), places.view(), to.view(e), spatial, accumulate);
    else k::plane_gather(values.view(e), places.view(), to.view(e), spatial);
  });
}

void max_pool_backward(Plan& plan, int spatial, const aclTensor* gradOutput, const aclTensor* self,
                       const aclTensor* indices, const aclTensor* gradInput) {
  const Operand grad = plan.input(gradOutput, "gradOutput"), in = plan.input(self, "self"),
                places = plan.input(indices, "indices"), to = plan.output(gradInput, "gradInput");
  plan.require_same_shape(in, "self", to, "gradInput");
  move_by_indices(plan, grad, places, to, spatial, true, true);
}

void max_unpool(Plan& plan, int spatial, const aclTensor* self, const aclTensor* indices,
                const aclIntArray* outputSize, const aclTensor* out) {
  const Operand in = plan.input(self, "self"), places = plan.input(indices, "indices"),
                to = plan.output(out, "out");
  require_planes(plan, in, "self", spatial);
  plan.require_shape(to, "out", with_space(in, list_for(plan, outputSize, "outputSize", size_t(spatial))));
  move_by_indices(plan, in, places, to, spatial, true, false);
}
void max_unpool_backward(Plan& plan, int spatial, const aclTensor* gradOutput, const aclTensor* self,
                         const aclTensor* indices, const aclTensor* out) {
  const Operand grad = plan.input(gradOutput, "gradOutput"), in = plan.input(self, "self"),
                places = plan.input(indices, "indices"), to = plan.output(out, "out");
  plan.require_same_shape(in, "self", to, "out");
  move_by_indices(plan, grad, places, to, spatial, false, false);
}

// Note [The mask of MaxPool2dWithMask]
// Clients allocate the mask ([N, C, kh * kw, (ceil(oh * ow / 16) + 1) * 32] bytes) and only hand it back to the gradient.
// Here its first bytes hold, for each output of a plane, where in the window the maximum was, in two bytes.
std::vector<int64_t> mask_shape(const Operand& in, const PoolOptions& options,
                                const std::vector<int64_t>& pooled) {
  const int64_t outputs = pooled[0] * pooled[1];
  return with_space(in, {options.kernel[0] * options.kernel[1], ((outputs + 15) / 16 + 1) * 32});
}

struct MaskedPool {
  PoolOptions options;
  std::vector<int64_t> from, pooled;
  int64_t planes = 1, row;  // row: bytes of a plane's mask

  MaskedPool(const Plan& plan, const PoolOptions& given, const Operand& in, const Operand& mask, bool ceil)
      : options(given), from(space_of(in, 2)), pooled(options.pooled(plan, from, ceil)) {
    plan.require_dtype(mask, "indices", k::dtype_set(DType::int8, DType::uint8));
    const std::vector<int64_t> wanted = mask_shape(in, options, pooled);
    plan.require_shape(mask, "indices", wanted);
    if (options.kernel[0] * options.kernel[1] > 65535)
      plan.invalid("a window of ", options.kernel[0], " x ", options.kernel[1], " is too large");
    row = wanted[wanted.size() - 1] * wanted[wanted.size() - 2];
    for (int i = 0; i < in.ndim - 2; ++i) planes *= in.sizes[i];
  }
  int64_t outputs() const { return pooled[0] * pooled[1]; }
  // The position in the plane of one place of the window of output o.
  int64_t position(int64_t o, int64_t tap) const {
    const int64_t y = o / pooled[1] * options.stride[0] - options.padding[0] +
                      tap / options.kernel[1] * options.dilation[0];
    const int64_t x = o % pooled[1] * options.stride[1] - options.padding[1] +
                      tap % options.kernel[1] * options.dilation[1];
    return y * from[1] + x;
  }
  int64_t tap(int64_t o, int64_t position) const {
    const int64_t y = position / from[1] - (o / pooled[1] * options.stride[0] - options.padding[0]);
    const int64_t x = position % from[1] - (o % pooled[1] * options.stride[1] - options.padding[1]);
    return y / options.dilation[0] * options.kernel[1] + x / options.dilation[1];
  }
  void write(const View& mask, const int64_t* positions) const {
    const k::Dense bytes(mask, mask.dtype, k::Access::write);
    for (int64_t plane = 0; plane < planes; ++plane) {
      unsigned char* to = bytes.view().as<unsigned char>() + plane * row;
      std::fill_n(to, row, 0);
      for (int64_t o = 0; o < outputs(); ++o) {
        const int64_t where = tap(o, positions[plane * outputs() + o]);
        to[2 * o] = static_cast<unsigned char>(where & 255),
               to[2 * o + 1] = static_cast<unsigned char>(where >> 8);
      }
    }
    bytes.store();
  }
  void read(const View& mask, int64_t* positions) const {
    const k::Dense bytes(mask, mask.dtype, k::Access::read);
    for (int64_t plane = 0; plane < planes; ++plane) {
      const unsigned char* at = bytes.view().as<unsigned char>() + plane * row;
      for (int64_t o = 0; o < outputs(); ++o)
        positions[plane * outputs() + o] = position(o, at[2 * o] | at[2 * o + 1] << 8);
    }
  }
};

template <class Kernel>
void adaptive(Plan& plan, int spatial, const Operand& in, const aclIntArray* outputSize, const Operand& to,
              const Kernel& kernel) {
  require_planes(plan, in, "self", spatial);
  plan.require_shape(to, "out", with_space(in, list_for(plan, outputSize, "outputSize", size_t(spatial))));
  if (in.numel() == 0 && to.numel() != 0)
    plan.invalid("tensor 'self' of shape ", shape_text(in), " has no elements to pool");
  kernel(space_of(in, spatial), space_of(to, spatial));
}

std::vector<k::Taps> adaptive_taps(const std::vector<int64_t>& in, const std::vector<int64_t>& out) {
  std::vector<k::Taps> taps;
  for (size_t i = 0; i < in.size(); ++i) taps.push_back(k::adaptive_taps(in[i], out[i]));
  return taps;
}

void adaptive_average(Plan& plan, int spatial, const aclTensor* self, const aclIntArray* outputSize,
                      const aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  plan.require_dtype(in, "self", domains::floating);
  plan.require_same_dtype(in, "self", to, "out");
  adaptive(plan, spatial, in, outputSize, to, [&](const auto& from, const auto& made) {
    plan.run([=](const aclOpExecutor& e) {
      k::resample(in.view(e), to.view(e), adaptive_taps(from, made), k::ToInteger::truncate);
    });
  });
}

void adaptive_average_backward(Plan& plan, int spatial, const aclTensor* gradOutput, const aclTensor* self,
                               const aclTensor* out) {
  const Operand grad = plan.input(gradOutput, "gradOutput"), in = plan.input(self, "self"),
                to = plan.output(out, "out");
  require_planes(plan, in, "self", spatial);
  plan.require_dtype(grad, "gradOutput", domains::floating);
  plan.require_same_dtype(grad, "gradOutput", to, "out");
  plan.require_same_shape(in, "self", to, "out");
  plan.require_shape(grad, "gradOutput", with_space(in, space_of(grad, spatial)));
  plan.run([=](const aclOpExecutor& e) {
    k::resample_transposed(grad.view(e), to.view(e),
                           adaptive_taps(space_of(to, spatial), space_of(grad, spatial)));
  });
}

void adaptive_max(Plan& plan, int spatial, const aclTensor* self, const aclIntArray* outputSize,
                  const aclTensor* out, const aclTensor* indices) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "outputOut"),
                places = plan.output(indices, "indicesOut");
  adaptive(plan, spatial, in, outputSize, to, [&](const auto& from, const auto& made) {
    max_pool(plan, in, to, places, spatial, [=] {
      k::WindowSet windows;
      for (size_t i = 0; i < from.size(); ++i)
        windows[3 - from.size() + i] = k::adaptive_windows(from[i], made[i]);
      return windows;
    });
  });
}

// One value for all of a plane.
template <class Kernel>
void global_pool(Plan& plan, const aclTensor* self, const aclTensor* out, const Kernel& kernel) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  if (in.ndim < 4 || in.ndim > 5)
    plan.invalid("tensor 'self' has shape ", shape_text(in), ", wanted 4 or 5 dimensions");
  plan.require_shape(to, "out", with_space(in, std::vector<int64_t>(size_t(in.ndim) - 2, 1)));
  plan.require_dtype(in, "self", domains::floating);
  plan.require_same_dtype(in, "self", to, "out");
  kernel(in, to, space_of(in, in.ndim - 2), space_of(to, in.ndim - 2));
}

}  // namespace

void AvgPool2d(Plan& plan, const aclTensor* self, const aclIntArray* kernelSize, const aclIntArray* strides,
               const aclIntArray* paddings, const bool ceilMode, const bool countIncludePad,
               const int64_t divisorOverride, const int8_t, aclTensor* out) {
  average_pool(plan, 2, self, {plan, 2, kernelSize, strides, paddings, nullptr}, ceilMode, countIncludePad,
               divisorOverride, out);
}
void AvgPool3d(Plan& plan, const aclTensor* self, const aclIntArray* kernelSize, const aclIntArray* stride,
               const aclIntArray* padding, bool ceilMode, bool countIncludePad, int64_t divisorOverride,
               aclTensor* out) {
  average_pool(plan, 3, self, {plan, 3, kernelSize, stride, padding, nullptr}, ceilMode, countIncludePad,
               divisorOverride, out);
}
void AvgPool2dBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                       const aclIntArray* kernelSize, const aclIntArray* stride, const aclIntArray* padding,
                       bool ceilMode, bool countIncludePad, int64_t divisorOverride, int8_t,
                       aclTensor* gradInput) {
  average_pool_backward(plan, 2, gradOutput, self, {plan, 2, kernelSize, stride, padding, nullptr}, ceilMode,
                        countIncludePad, divisorOverride, gradInput);
}
void AvgPool3dBackward(Plan& plan, const aclTensor* gradOuput, const aclTensor* self,
                       const aclIntArray* kernelSize, const aclIntArray* stride, const aclIntArray* padding,
                       bool ceilMode, bool countIncludePad, int64_t divisorOverride, aclTensor* output) {
  average_pool_backward(plan, 3, gradOuput, self, {plan, 3, kernelSize, stride, padding, nullptr}, ceilMode,
                        countIncludePad, divisorOverride, output);
}

void MaxPool2dWithIndices(Plan& plan, const aclTensor* self, const aclIntArray* kernelSize,
                          const aclIntArray* stride, const aclIntArray* padding, const aclIntArray* dilation,
                          bool ceilMode, aclTensor* out, aclTensor* indices) {
  fixed_max_pool(plan, 2, self, {plan, 2, kernelSize, stride, padding, dilation}, ceilMode, out, indices);
}
void MaxPool3dWithArgmax(Plan& plan, const aclTensor* self, const aclIntArray* kernelSize,
                         const aclIntArray* stride, const aclIntArray* padding, const aclIntArray* dilation,
                         bool ceilMode, aclTensor* out, aclTensor* indices) {
  fixed_max_pool(plan, 3, self, {plan, 3, kernelSize, stride, padding, dilation}, ceilMode, out, indices);
}
void MaxPool(Plan& plan, const aclTensor* self, const aclIntArray* kernelShape, const aclIntArray* strides,
             const int64_t autoPad, const aclIntArray* pads, const aclIntArray* dilations,
             const int64_t ceilMode, aclTensor* out) {
  if (autoPad != 0) plan.invalid("autoPad is ", autoPad, ", wanted 0 (the given pads)");
  // Before and after each dimension.
  std::vector<int64_t> sides = optional_list(pads);
  if (sides.empty()) sides.assign(2, 0);
  if (sides.size() == 4) {
    if (sides[0] != sides[2] || sides[1] != sides[3])
      plan.invalid("'pads' differ on two sides, which the software NPU does not support");
    sides.resize(2);
  }
  aclIntArray symmetric;
  symmetric.values.assign(sides.data(), sides.size());
  const aclIntArray* spread = optional_list(dilations).empty() ? nullptr : dilations;
  fixed_max_pool(plan, 2, self, {plan, 2, kernelShape, strides, &symmetric, spread}, ceilMode != 0, out,
                 nullptr);
}

void MaxPool2dWithIndicesBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                                  const aclTensor* indices, const aclIntArray*, const aclIntArray*,
                                  const aclIntArray*, const aclIntArray*, bool, aclTensor* gradInput) {
  max_pool_backward(plan, 2, gradOutput, self, indices, gradInput);
}
void MaxPool3dWithArgmaxBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                                 const aclTensor* indices, const aclIntArray*, const aclIntArray*,
                                 const aclIntArray*, const aclIntArray*, bool, aclTensor* gradInput) {
  max_pool_backward(plan, 3, gradOutput, self, indices, gradInput);
}

void MaxPool2dWithMask(Plan& plan, const aclTensor* self, const aclIntArray* kernelSize,
                       const aclIntArray* stride, const aclIntArray* padding, const aclIntArray* dilation,
                       bool ceilMode, aclTensor* out, aclTensor* indices) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out"),
                mask = plan.output(indices, "indices");
  require_planes(plan, in, "self", 2);
  plan.require_dtype(in, "self", domains::floating);
  plan.require_same_dtype(in, "self", to, "out");
  const MaskedPool pool(plan, {plan, 2, kernelSize, stride, padding, dilation}, in, mask, ceilMode);
  plan.require_shape(to, "out", with_space(in, pool.pooled));
  plan.run([=](const aclOpExecutor& e) {
    const k::Temporary places(sizes_of(to), DType::int64);
    k::max_pool(in.view(e), to.view(e), places.view(), 2, pool.options.windows(pool.from, pool.pooled));
    pool.write(mask.view(e), places.view().as<int64_t>());
  });
}
void MaxPool2dWithMaskBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                               const aclTensor* indices, const aclIntArray* kernelSize,
                               const aclIntArray* stride, const aclIntArray* padding,
                               const aclIntArray* dilation, bool ceilMode, aclTensor* gradInput) {
  const Operand grad = plan.input(gradOutput, "gradOutput"), in = plan.input(self, "self"),
                mask = plan.input(indices, "indices"), to = plan.output(gradInput, "gradInput");
  require_planes(plan, in, "self", 2);
  plan.require_dtype(grad, "gradOutput", domains::floating);
  plan.require_same_dtype(grad, "gradOutput", to, "gradInput");
  plan.require_same_shape(in, "self", to, "gradInput");
  const MaskedPool pool(plan, {plan, 2, kernelSize, stride, padding, dilation}, in, mask, ceilMode);
  plan.require_shape(grad, "gradOutput", with_space(in, pool.pooled));
  plan.run([=](const aclOpExecutor& e) {
    const k::Temporary places(sizes_of(grad), DType::int64);
    pool.read(mask.view(e), places.view().as<int64_t>());
    k::plane_scatter(grad.view(e), places.view(), to.view(e), 2, true);
  });
}

void AdaptiveAvgPool2d(Plan& plan, const aclTensor* self, const aclIntArray* outputSize, aclTensor* out) {
  adaptive_average(plan, 2, self, outputSize, out);
}
void AdaptiveAvgPool3d(Plan& plan, const aclTensor* self, const aclIntArray* outputSize, aclTensor* out) {
  adaptive_average(plan, 3, self, outputSize, out);
}
void AdaptiveAvgPool2dBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                               aclTensor* out) {
  adaptive_average_backward(plan, 2, gradOutput, self, out);
}
void AdaptiveAvgPool3dBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                               aclTensor* out) {
  adaptive_average_backward(plan, 3, gradOutput, self, out);
}
void AdaptiveMaxPool2d(Plan& plan, const aclTensor* self, const aclIntArray* outputSize, aclTensor* outputOut,
                       aclTensor* indicesOut) {
  adaptive_max(plan, 2, self, outputSize, outputOut, indicesOut);
}
void AdaptiveMaxPool3d(Plan& plan, const aclTensor* self, const aclIntArray* outputSize, aclTensor* outputOut,
                       aclTensor* indicesOut) {
  adaptive_max(plan, 3, self, outputSize, outputOut, indicesOut);
}
void AdaptiveMaxPool2dBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                               const aclTensor* indices, aclTensor* gradInput) {
  max_pool_backward(plan, 2, gradOutput, self, indices, gradInput);
}
void AdaptiveMaxPool3dBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                               const aclTensor* indices, aclTensor* gradInput) {
  max_pool_backward(plan, 3, gradOutput, self, indices, gradInput);
}

void GlobalAveragePool(Plan& plan, const aclTensor* self, aclTensor* out) {
  global_pool(plan, self, out, [&](const Operand& in, const Operand& to, const auto& from, const auto& made) {
    plan.run([=](const aclOpExecutor& e) {
      k::resample(in.view(e), to.view(e), adaptive_taps(from, made), k::ToInteger::truncate);
    });
  });
}
void GlobalMaxPool(Plan& plan, const aclTensor* self, aclTensor* out) {
  global_pool(plan, self, out, [&](const Operand& in, const Operand& to, const auto& from, const auto& made) {
    max_pool(plan, in, to, std::nullopt, int(from.size()), [=] {
      k::WindowSet windows;
      for (size_t i = 0; i < from.size(); ++i)
        windows[3 - from.size() + i] = k::adaptive_windows(from[i], made[i]);
      return windows;
    });
  });
}

// The inverse of a maximum: values back to where they came from.
void MaxUnpool2d(Plan& plan, const aclTensor* self, const aclTensor* indices, const aclIntArray* outputSize,
                 aclTensor* out) {
  max_unpool(plan, 2, self, indices, outputSize, out);
}
void MaxUnpool3d(Plan& plan, const aclTensor* self, const aclTensor* indices, const aclIntArray* outputSize,
                 const aclIntArray*, const aclIntArray*, aclTensor* outRef) {
  max_unpool(plan, 3, self, indices, outputSize, outRef);
}
void MaxUnpool2dBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                         const aclTensor* indices, const aclIntArray*, aclTensor* out) {
  max_unpool_backward(plan, 2, gradOutput, self, indices, out);
}
void MaxUnpool3dBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                         const aclTensor* indices, const aclIntArray*, const aclIntArray*, const aclIntArray*,
                         aclTensor* out) {
  max_unpool_backward(plan, 3, gradOutput, self, indices, out);
}

}  // namespace softnpu::ops
