// Pooling in terms of its kernels.
#include "generated/ops/composites/pool.h"

#include <algorithm>
#include <cmath>

#include "core/determinism.h"
#include "generated/ops/pool.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"

namespace mt::composites {
namespace {

// A list for one dimension as one for two, the first of which is left alone.
Dims behind(int64_t first, const DimList& list) {
  if (list.dims().empty()) return {};
  MT_CHECK(list.dims().size() == 1, "pooling of one dimension takes an int or a list of one int, but got ",
           to_string(list.dims()));
  return {first, list.dims()[0]};
}

// The only number of a list.
int64_t only(const DimList& list, int64_t otherwise) {
  return list.dims().empty() ? otherwise : list.dims()[0];
}

bool all_ones(IntList sizes, size_t count) {
  return sizes.size() == count && std::all_of(sizes.begin(), sizes.end(), [](int64_t n) { return n == 1; });
}

void check_output_size(const DimList& list, const char* name) {
  MT_CHECK(list.dims().size() == 1, name, "() argument 'output_size' should contain one int (got ",
           list.dims().size(), ")");
}

void check_line(const Tensor& self, const char* name) {
  const IntList sizes = self.sizes();
  const bool empty = sizes.size() > 1 && (sizes.back() == 0 || sizes[sizes.size() - 2] == 0);
  MT_CHECK((self.dim() == 2 || self.dim() == 3) && !empty, name,
           ": Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:",
           to_string(self.sizes()));
}

Dims with_spatial(IntList sizes, IntList spatial) {
  Dims result(sizes.subspan(0, sizes.size() - spatial.size()));
  for (int64_t size : spatial) result.push_back(size);
  return result;
}

}  // namespace

std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& self, const DimList& kernel_size,
                                                   const DimList& stride, const DimList& padding,
                                                   const DimList& dilation, bool ceil_mode) {
  check_line(self, "max_pool1d");
  const int64_t kernel = only(kernel_size, 1), step = only(stride, kernel), spread = only(dilation, 1);
  const std::pair<const char*, int64_t> positive[] = {
      {"kernel_size", kernel}, {"stride", step}, {"dilation", spread}};
  for (const auto& [what, value] : positive)
    MT_CHECK(value > 0, "max_pool1d() ", what, " must be greater than zero, but got ", value);
  const int64_t zeros = only(padding, 0);
  if (zeros >= 0 && zeros <= kernel / 2 &&
      std::max({kernel, spread, step}) < (1 << 30)) {  // others are refused below
    const int64_t room =
        self.sizes().back() + 2 * zeros - spread * (kernel - 1) - 1 + (ceil_mode ? step - 1 : 0);
    MT_CHECK(room >= 0, "max_pool1d() Invalid computed output size: ", -((-room + step - 1) / step) + 1);
  }
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

// One window is the mean, as PyTorch has it: also of nothing at all.
Tensor adaptive_avg_pool2d(const Tensor& self, IntList output_size) {
  if (all_ones(output_size, 2)) return ops::mean(self, Dims{-2, -1}, true);
  return ops::_adaptive_avg_pool2d(self, output_size);
}
Tensor adaptive_avg_pool3d(const Tensor& self, IntList output_size) {
  if (all_ones(output_size, 3)) return ops::mean(self, Dims{-3, -2, -1}, true);
  return ops::_adaptive_avg_pool3d(self, output_size);
}
Tensor adaptive_avg_pool1d(const Tensor& self, const DimList& output_size) {
  MT_CHECK(self.dim() == 2 || self.dim() == 3, "Expected 2 to 3 dimensions, but got ", self.dim(),
           "-dimensional tensor for argument #1 'self' (while checking arguments for adaptive_avg_pool1d)");
  check_output_size(output_size, "adaptive_avg_pool1d");
  return ops::squeeze(ops::_adaptive_avg_pool2d(ops::unsqueeze(self, -2), behind(1, output_size)), -2);
}
std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& self, const DimList& output_size) {
  MT_CHECK(self.dim() == 2 || self.dim() == 3, "Expected 2 to 3 dimensions, but got ", self.dim(),
           "-dimensional tensor for argument #1 'self' (while checking arguments for adaptive_max_pool1d)");
  check_output_size(output_size, "adaptive_max_pool1d");
  auto [out, indices] = ops::adaptive_max_pool2d(ops::unsqueeze(self, -2), behind(1, output_size));
  return {ops::squeeze(out, -2), ops::squeeze(indices, -2)};
}

Tensor max_unpool2d(const Tensor& self, const Tensor& indices, IntList output_size) {
  if (!self.device().is_meta()) alert_not_deterministic("max_unpooling2d_forward_out");
  MT_CHECK(
      self.dim() == 3 || self.dim() == 4,
      "Input to max_unpooling2d should be a 3d or 4d Tensor, but got tensor with dimension: ", self.dim());
  MT_CHECK(output_size.size() == 2, "There should be exactly two elements (height, width) in output_size");
  return ops::_plane_scatter(self, indices, with_spatial(self.sizes(), output_size), 2, false);
}
Tensor max_unpool3d(const Tensor& self, const Tensor& indices, IntList output_size, IntList stride, IntList) {
  if (!self.device().is_meta()) alert_not_deterministic("max_unpooling3d_forward_out");
  MT_CHECK(self.dim() == 4 || self.dim() == 5,
           "Input to max_unpooling3d should be a 4d or 5d Tensor, but got a tensor with dim ", self.dim());
  MT_CHECK(output_size.size() == 3,
           "There should be exactly three elements (depth, height, width) in output_size");
  for (int64_t s : stride)
    MT_CHECK(s > 0, "strides should be greater than zero, but got stride: ", to_string(stride));
  return ops::_plane_scatter(self, indices, with_spatial(self.sizes(), output_size), 3, false);
}

}  // namespace mt::composites
