// Pooling and interpolation in terms of their kernels.
#include <cmath>

#include "generated/ops/ops.h"
#include "infer/infer.h"

namespace mt::composite {
namespace {

// A list for one dimension as one for two, the first of which is left alone.
Dims behind(int64_t first, const DimList& list) {
  if (list.dims().empty()) return {};
  MT_CHECK(list.dims().size() == 1, "pooling of one dimension takes an int or a list of one int, but got ",
           to_string(list.dims()));
  return {first, list.dims()[0]};
}

void check_line(const Tensor& self, const char* name) {
  MT_CHECK(self.dim() == 2 || self.dim() == 3, name,
           ": Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:",
           to_string(self.sizes()));
}

Dims with_spatial(IntList sizes, IntList spatial) {
  Dims result(sizes.subspan(0, sizes.size() - spatial.size()));
  for (int64_t size : spatial) result.push_back(size);
  return result;
}

Tensor interpolated(const Tensor& self, IntList size, const char* mode, bool align_corners,
                    std::initializer_list<std::optional<double>> scales) {
  std::vector<double> factors;
  for (const auto& scale : scales) factors.push_back(scale.value_or(0.0));
  return ops::_interpolate(self, size, mode, align_corners, factors);
}

// Sizes given, or computed from factors: one of the two.
Tensor interpolated_by(const Tensor& input, const OptionalInts& size, const char* mode, bool align_corners,
                       const std::optional<std::vector<double>>& factors) {
  MT_CHECK(bool(size) != bool(factors), "Must specify exactly one of output_size and scale_factors");
  const size_t spatial = size_t(std::max<int64_t>(input.dim() - 2, 0));
  if (size) return ops::_interpolate(input, *size, mode, align_corners, std::vector<double>(spatial, 0.0));
  MT_CHECK(factors->size() == spatial, "It is expected scale_factors of size ", spatial, ", but got size ",
           factors->size());
  Dims scaled;
  for (size_t i = 0; i < spatial; ++i) {
    const double wanted = std::floor(double(input.sizes()[2 + i]) * (*factors)[i]);
    MT_CHECK(wanted >= 0 && wanted < 2147483648.0, "scale_factors: a size of ", wanted, " is out of range");
    scaled.push_back(int64_t(wanted));
  }
  return ops::_interpolate(input, scaled, mode, align_corners, *factors);
}

}  // namespace

std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& self, const DimList& kernel_size,
                                                   const DimList& stride, const DimList& padding,
                                                   const DimList& dilation, bool ceil_mode) {
  check_line(self, "max_pool1d");
  auto [out, indices] =
      ops::max_pool2d_with_indices(ops::unsqueeze(self, -2), behind(1, kernel_size), behind(1, stride),
                                   behind(0, padding), behind(1, dilation), ceil_mode);
  return {ops::squeeze(out, -2), ops::squeeze(indices, -2)};
}
Tensor max_pool1d(const Tensor& self, const DimList& kernel_size, const DimList& stride,
                  const DimList& padding, const DimList& dilation, bool ceil_mode) {
  return std::get<0>(ops::max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}
Tensor max_pool2d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                  bool ceil_mode) {
  return std::get<0>(ops::max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}
Tensor max_pool3d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                  bool ceil_mode) {
  return std::get<0>(ops::max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}

Tensor avg_pool1d(const Tensor& self, const DimList& kernel_size, const DimList& stride,
                  const DimList& padding, bool ceil_mode, bool count_include_pad) {
  MT_CHECK(self.dim() == 2 || self.dim() == 3, "Expected 2 to 3 dimensions, but got ", self.dim(),
           "-dimensional tensor for argument #1 'self' (while checking arguments for avg_pool1d)");
  return ops::squeeze(ops::avg_pool2d(ops::unsqueeze(self, -2), behind(1, kernel_size), behind(1, stride),
                                      behind(0, padding), ceil_mode, count_include_pad, std::nullopt),
                      -2);
}

Tensor adaptive_avg_pool2d(const Tensor& self, IntList output_size) {
  return ops::_adaptive_avg_pool2d(self, output_size);
}
Tensor adaptive_avg_pool3d(const Tensor& self, IntList output_size) {
  return ops::_adaptive_avg_pool3d(self, output_size);
}
Tensor adaptive_avg_pool1d(const Tensor& self, const DimList& output_size) {
  MT_CHECK(self.dim() == 2 || self.dim() == 3, "Expected 2 to 3 dimensions, but got ", self.dim(),
           "-dimensional tensor for argument #1 'self' (while checking arguments for adaptive_avg_pool1d)");
  return ops::squeeze(ops::_adaptive_avg_pool2d(ops::unsqueeze(self, -2), behind(1, output_size)), -2);
}
std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& self, const DimList& output_size) {
  MT_CHECK(self.dim() == 2 || self.dim() == 3, "Expected 2 to 3 dimensions, but got ", self.dim(),
           "-dimensional tensor for argument #1 'self' (while checking arguments for adaptive_max_pool1d)");
  auto [out, indices] = ops::adaptive_max_pool2d(ops::unsqueeze(self, -2), behind(1, output_size));
  return {ops::squeeze(out, -2), ops::squeeze(indices, -2)};
}

Tensor max_unpool2d(const Tensor& self, const Tensor& indices, IntList output_size) {
  MT_CHECK(
      self.dim() == 3 || self.dim() == 4,
      "Input to max_unpooling2d should be a 3d or 4d Tensor, but got tensor with dimension: ", self.dim());
  MT_CHECK(output_size.size() == 2, "There should be exactly two elements (height, width) in output_size");
  return ops::_plane_scatter(self, indices, with_spatial(self.sizes(), output_size), 2, false);
}
Tensor max_unpool3d(const Tensor& self, const Tensor& indices, IntList output_size, IntList stride, IntList) {
  MT_CHECK(self.dim() == 4 || self.dim() == 5,
           "Input to max_unpooling3d should be a 4d or 5d Tensor, but got a tensor with dim ", self.dim());
  MT_CHECK(output_size.size() == 3,
           "There should be exactly three elements (depth, height, width) in output_size");
  for (int64_t s : stride)
    MT_CHECK(s > 0, "strides should be greater than zero, but got stride: ", to_string(stride));
  return ops::_plane_scatter(self, indices, with_spatial(self.sizes(), output_size), 3, false);
}

// ---- interpolation, one function per PyTorch name ----
#define MT_UPSAMPLE_NEAREST(suffix, mode)                                                          \
  Tensor upsample_##suffix##1d(const Tensor& self, const DimList& size, std::optional<double> w) { \
    return interpolated(self, size.dims(), mode, false, {w});                                      \
  }                                                                                                \
  Tensor upsample_##suffix##2d(const Tensor& self, IntList size, std::optional<double> h,          \
                               std::optional<double> w) {                                          \
    return interpolated(self, size, mode, false, {h, w});                                          \
  }                                                                                                \
  Tensor upsample_##suffix##3d(const Tensor& self, IntList size, std::optional<double> d,          \
                               std::optional<double> h, std::optional<double> w) {                 \
    return interpolated(self, size, mode, false, {d, h, w});                                       \
  }
MT_UPSAMPLE_NEAREST(nearest, "nearest")
MT_UPSAMPLE_NEAREST(nearest_exact, "nearest-exact")
#undef MT_UPSAMPLE_NEAREST

#define MT_UPSAMPLE_2D(name, mode)                                                           \
  Tensor name(const Tensor& self, IntList size, bool align_corners, std::optional<double> h, \
              std::optional<double> w) {                                                     \
    return interpolated(self, size, mode, align_corners, {h, w});                            \
  }
MT_UPSAMPLE_2D(upsample_bilinear2d, "linear")
MT_UPSAMPLE_2D(upsample_bicubic2d, "cubic")
MT_UPSAMPLE_2D(upsample_bilinear2d_aa, "linear-aa")
MT_UPSAMPLE_2D(upsample_bicubic2d_aa, "cubic-aa")
#undef MT_UPSAMPLE_2D

Tensor upsample_bilinear2d_aa(const Tensor& input, const OptionalInts& size, bool align_corners,
                              const std::optional<std::vector<double>>& scale_factors) {
  return interpolated_by(input, size, "linear-aa", align_corners, scale_factors);
}
Tensor upsample_bicubic2d_aa(const Tensor& input, const OptionalInts& size, bool align_corners,
                             const std::optional<std::vector<double>>& scale_factors) {
  return interpolated_by(input, size, "cubic-aa", align_corners, scale_factors);
}

Tensor upsample_linear1d(const Tensor& self, const DimList& size, bool align_corners,
                         std::optional<double> scale) {
  return interpolated(self, size.dims(), "linear", align_corners, {scale});
}
Tensor upsample_trilinear3d(const Tensor& self, IntList size, bool align_corners, std::optional<double> d,
                            std::optional<double> h, std::optional<double> w) {
  return interpolated(self, size, "linear", align_corners, {d, h, w});
}

Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                    bool align_corners) {
  return (input.dim() == 5 ? ops::grid_sampler_3d : ops::grid_sampler_2d)(input, grid, interpolation_mode,
                                                                          padding_mode, align_corners);
}

}  // namespace mt::composite
