#include "autograd/formulas/resample.h"

#include "generated/ops/creation.h"
#include "generated/ops/reduce.h"
#include "generated/ops/resample.h"
#include "generated/ops/view.h"

namespace mt::formulas {

// The gradient of the grid is summed over channels, so that each channel is made a sample of its own.
Tensor grid_sampler_tangent(const Tensor& grid_tangent, const Tensor& input, const Tensor& grid,
                            int64_t interpolation_mode, int64_t padding_mode, bool align_corners) {
  const int64_t n = input.size(0), c = input.size(1);
  const auto for_each_channel = [&](const Tensor& t) {
    Dims wide(t.sizes()), flat(t.sizes());
    wide.insert(1, c);
    flat[0] = n * c;
    return ops::expand(ops::unsqueeze(t, 1), wide, false).reshape(flat);
  };
  Dims planes(input.sizes()), out(grid.sizes().first(size_t(grid.dim()) - 1));
  planes[0] = n * c, planes[1] = 1;
  out.insert(1, c);
  Dims samples(out);
  samples[0] = n * c, samples[1] = 1;
  const Tensor ones = ops::ones(samples, {input.dtype(), input.device()});
  const auto made = ops::_grid_sampler_backward(ones, input.reshape(planes), for_each_channel(grid),
                                                interpolation_mode, padding_mode, align_corners);
  return sum(std::get<1>(made) * for_each_channel(grid_tangent), -1, false).reshape(out);
}

}  // namespace mt::formulas
