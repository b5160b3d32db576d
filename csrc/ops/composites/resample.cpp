// Interpolation and sampling in terms of their kernels, one function per name of PyTorch.
#include "generated/ops/composites/resample.h"

#include <cmath>

#include "generated/ops/resample.h"

namespace mt::composites {
namespace {

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

}  // namespace mt::composites
