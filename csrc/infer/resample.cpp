#include "generated/infer/resample.h"

#include "infer/spatial.h"

namespace mt::infer {

void interpolate(const Tensor& self, IntList output_size, std::string_view mode, bool,
                 std::span<const double> scales, Output& out) {
  const size_t spatial = output_size.size();
  MT_CHECK(spatial >= 1 && spatial <= 3 && self.dim() == int64_t(spatial) + 2 && scales.size() == spatial,
           "It is expected input_size equals to ", spatial + 2, ", but got size ", self.dim());
  const IntList in = self.sizes().last(spatial);
  bool positive = true;
  for (int64_t size : in) positive &= size > 0;
  for (int64_t size : output_size) positive &= size > 0 && size < kSpatialLimit;
  constexpr const char* names[] = {"D", "H", "W"};
  const auto listed = [&](IntList list) {
    std::string text;
    for (size_t i = 0; i < spatial; ++i)
      text += (i ? ", " : "") + std::string(names[3 - spatial + i]) + ": " + std::to_string(list[i]);
    return text;
  };
  MT_CHECK(positive, "Input and output sizes should be greater than 0, but got input (", listed(in),
           ") output (", listed(output_size), ")");
  MT_CHECK(self.sizes()[1] != 0, "Non-empty ", spatial + 2,
           "D data tensor expected but got a tensor with sizes ", to_string(self.sizes()));
  for (double scale : scales)
    MT_CHECK(!(scale > 0) || (scale > 1e-9 && scale < 1e9), "interpolate: a scale factor of ", scale,
             " is out of range");
  const bool bytes = self.dtype() == DType::uint8;
  MT_CHECK_AS(not_implemented, is_floating(self.dtype()) || bytes, "\"upsample_", mode, spatial,
              "d\" not implemented for '", info(self.dtype()).legacy, "'");
  out.prepare_images(with_spatial(self.sizes(), output_size), self.dtype(), self.device(), {&self});
}
void interpolate_backward(const Tensor& grad_output, IntList input_size, std::string_view, bool,
                          std::span<const double>, Output& out) {
  out.prepare_images(input_size, grad_output.dtype(), grad_output.device(), {&grad_output});
}

namespace {

Dims sampled(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding, int64_t spatial) {
  const IntList x = input.sizes(), g = grid.sizes();
  check_same_device({&input, &grid});
  MT_CHECK(!x.empty() && !g.empty() && x[0] == g[0],
           "grid_sampler(): expected grid and input to have same batch size, but got input with sizes ",
           to_string(x), " and grid with sizes ", to_string(g));
  MT_CHECK(input.dim() == spatial + 2 && grid.dim() == input.dim(), "grid_sampler(): expected ", spatial + 2,
           "D input and grid with same number of dimensions, but got input with sizes ", to_string(x),
           " and grid with sizes ", to_string(g));
  MT_CHECK(g.back() == spatial, "grid_sampler(): expected grid to have size ", spatial,
           " in last dimension, but got grid with sizes ", to_string(g));
  for (size_t i = 2; i < x.size(); ++i)
    MT_CHECK(x[i] > 0,
             "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes ",
             to_string(x), " with dimension ", i, " being empty");
  MT_CHECK(mode >= 0 && mode <= 2 && padding >= 0 && padding <= 2,
           "grid_sampler(): interpolation_mode and padding_mode must be 0, 1 or 2, got ", mode, " and ",
           padding);
  MT_CHECK(mode != 2 || spatial == 2, "grid_sampler(): bicubic interpolation only supports 4D input");
  MT_CHECK(input.dtype() == grid.dtype(), "expected scalar type ", info(input.dtype()).legacy, " but found ",
           info(grid.dtype()).legacy);
  MT_CHECK_AS(not_implemented, is_floating(input.dtype()), "\"grid_sampler_", spatial,
              "d_cpu\" not implemented for '", info(input.dtype()).legacy, "'");
  Dims sizes{x[0], x[1]};
  for (size_t i = 1; i + 1 < g.size(); ++i) sizes.push_back(g[i]);
  return sizes;
}

}  // namespace

void grid_sampler_2d(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding, bool,
                     Output& out) {
  out.prepare(sampled(input, grid, mode, padding, 2), input.dtype(), input.device());
}
void grid_sampler_3d(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding, bool,
                     Output& out) {
  out.prepare(sampled(input, grid, mode, padding, 3), input.dtype(), input.device());
}
void grid_sampler_backward(const Tensor& grad_output, const Tensor& input, const Tensor& grid, int64_t mode,
                           int64_t padding, bool, Output& grad_input, Output& grad_grid) {
  const Dims sizes = sampled(input, grid, mode, padding, input.dim() - 2);
  MT_CHECK(std::ranges::equal(sizes, grad_output.sizes()), "grid_sampler_backward: wanted a gradient of ",
           to_string(sizes), ", got ", to_string(grad_output.sizes()));
  grad_input.prepare(input.sizes(), input.dtype(), input.device());
  grad_grid.prepare(grid.sizes(), grid.dtype(), grid.device());
}

}  // namespace mt::infer
