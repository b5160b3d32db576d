// Pooling made of gather and scatter.
#include "generated/ops/substitutes/pool.h"

#include <functional>
#include <numeric>

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"
#include "ops/substitutes/common.h"

namespace mt::substitutes {
namespace {

// The last `spatial` dimensions as one.
Dims flat_planes(IntList sizes, int64_t spatial) {
  const size_t kept = sizes.size() - size_t(spatial);
  Dims result(sizes.first(kept));
  result.push_back(
      std::accumulate(sizes.begin() + int64_t(kept), sizes.end(), int64_t(1), std::multiplies<>()));
  return result;
}
Tensor flat_planes(const Tensor& t, int64_t spatial) { return t.reshape(flat_planes(t.sizes(), spatial)); }

}  // namespace

Tensor plane_scatter(const Tensor& values, const Tensor& indices, IntList size, int64_t spatial,
                     bool accumulate) {
  const Tensor empty = ops::zeros(flat_planes(size, spatial), {values.dtype(), values.device()});
  const Tensor from = flat_planes(values, spatial), to = flat_planes(indices, spatial);
  return (accumulate ? ops::scatter_add(empty, -1, to, from) : ops::scatter(empty, -1, to, from))
      .reshape(size);
}
Tensor plane_gather(const Tensor& self, const Tensor& indices, int64_t spatial) {
  return ops::gather(flat_planes(self, spatial), -1, flat_planes(indices, spatial)).reshape(indices.sizes());
}

// Windows of `kernel_size` at places that the samples of each plane choose: their elements are gathered, and the largest
// found. All starts are on the device, because the samples are.
std::tuple<Tensor, Tensor> fractional_max_pool(const Tensor& self, IntList kernel_size, IntList output_size,
                                               const Tensor& random_samples) {
  const size_t spatial = output_size.size();
  const IntList in = self.sizes().last(spatial);
  const int64_t planes = random_samples.size(0) * random_samples.size(1);
  const TensorOptions like_samples{random_samples.dtype(),
                                   random_samples.device()};  // in which all is rounded
  Dims grid(2 * spatial + 1, 1);                              // plane, outputs, places in the window
  grid[0] = planes;
  Tensor places = ops::zeros(grid, places_beside(self));
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t out = output_size[i], kernel = kernel_size[i], room = in[i] - kernel;
    // The samples of two dimensions come with the width first, those of three in order.
    const Tensor sample =
        ops::select(random_samples, -1, int64_t(spatial == 2 ? 1 - i : i)).reshape(Dims{planes, 1});
    const Tensor spread = ops::full({}, Scalar(out > 1 ? double(room) / double(out - 1) : 0.0), like_samples);
    const auto scaled = [&](const Tensor& at) { return ops::_to_copy(ops::mul(at, spread), DType::int64); };
    const Tensor numbers = ops::arange(Scalar(out), places_beside(self));
    Tensor start =
        ops::sub(scaled(ops::add(sample, ops::_to_copy(numbers, random_samples.dtype()))), scaled(sample));
    start = ops::where(ops::eq(numbers, Scalar(out - 1)), Scalar(room), start);
    Dims outputs(2 * spatial + 1, 1), window(2 * spatial + 1, 1);
    outputs[0] = planes;
    outputs[1 + i] = out;
    window[1 + spatial + i] = kernel;
    const Tensor step = ops::arange(Scalar(kernel), places_beside(self)).reshape(window);
    const Tensor at = ops::add(ops::clamp(start, Scalar(0), Scalar(room)).reshape(outputs), step);
    places = ops::add(ops::mul(places, Scalar(in[i])), at);
  }
  const int64_t count =
      std::accumulate(output_size.begin(), output_size.end(), int64_t(1), std::multiplies<>());
  const int64_t size =
      std::accumulate(kernel_size.begin(), kernel_size.end(), int64_t(1), std::multiplies<>());
  const int64_t plane = std::accumulate(in.begin(), in.end(), int64_t(1), std::multiplies<>());
  const Tensor chosen = places.reshape(Dims{planes, count * size});
  const Tensor windows =
      ops::gather(self.reshape(Dims{planes, plane}), -1, chosen).reshape(Dims{planes, count, size});
  const auto [values, where] = ops::max(windows, -1, true);
  const Tensor indices = ops::gather(chosen.reshape(Dims{planes, count, size}), -1, where);
  Dims sizes(self.sizes().first(size_t(self.dim()) - spatial));
  for (int64_t out : output_size) sizes.push_back(out);
  return {values.reshape(sizes), indices.reshape(sizes)};
}

Tensor max_pool2d_backward(const Tensor& grad_output, const Tensor& self, IntList, IntList, IntList, IntList,
                           bool, const Tensor& indices) {
  return plane_scatter(grad_output, indices, self.sizes(), 2, true);
}

}  // namespace mt::substitutes
