// Interpolation dimension by dimension, by tables that the device makes (no copy from the host: a graph may record it), and sampling at the positions of a grid.
#include "generated/cuda/resample.h"

#include <limits>
#include <vector>

#include "backends/cuda/dense.h"
#include "backends/cuda/elementwise.h"
#include "backends/cuda/program.h"
#include "kernels/elementwise/functors.h"
#include "kernels/resample/resample.h"

namespace mt::cuda {
namespace {

using kernels::InterpolatedLine;
constexpr Family kTaps{"resample.h", "TapsCall"}, kGrids{"resample.h", "GridCall"};

std::vector<InterpolatedLine> lines_of(IntList in, IntList out, std::string_view mode, bool align_corners,
                                       std::span<const double> scales, DType dtype) {
  std::vector<InterpolatedLine> lines;
  for (size_t i = 0; i < in.size(); ++i)
    lines.push_back(
        {kernels::interpolation_of(mode), in[i], out[i], scales[i], align_corners, dtype != DType::float64});
  return lines;
}

// One dimension of dense floats or doubles; forward from line.in to line.out, transposed the other way.
Tensor apply_taps(const char* name, const Tensor& from, int64_t dim, const InterpolatedLine& line,
                  bool transposed) {
  const Place place(from);
  const int64_t width = line.width();
  const Scratch places(place, size_t(line.out) * 2 * sizeof(int64_t)),
      weights(place, size_t(line.out * width) * sizeof(double));
  Dims sizes(from.sizes());
  sizes[size_t(dim)] = transposed ? line.in : line.out;
  Tensor to = new_tensor(sizes, from.dtype(), from.device());
  const Along along(from, dim);
  TapsCall call{};
  call.from = memory(from);
  call.to = memory(to);
  call.firsts = static_cast<long long*>(places.address());
  call.counts = call.firsts + line.out;
  call.weights = static_cast<double*>(weights.address());
  call.outer = along.outer;
  call.inner = along.inner;
  call.in = line.in;
  call.out = line.out;
  call.width = width;
  call.scale = line.scale;
  call.mode = int(line.mode);
  call.align_corners = line.align_corners;
  call.single = line.single;
  static Variants made, applied;
  run_over(kTaps, made, 0, name, to, line.out, call, [] { return "taps_made"; });
  run_over(kTaps, applied, key_of({int(from.dtype()), transposed}), name, to, to.numel(), call, [&] {
    return join_text(transposed ? "taps_transposed<" : "taps_applied<", type_text(from.dtype()), ">");
  });
  return to;
}

// The results of integers, rounded and within what the dtype can hold.
void round_into(const char* name, const Tensor& from, const Tensor& out) {
  static Variants rounded, bounded;
  run_elementwise(functor_of<kernels::round_op>, rounded, name, from.dtype(), from, {from}, nullptr);
  Scalar bounds[2] = {0, 0};
  kernels::dispatch<kernels::domains::integral>(out.dtype(), name, [&](auto tag) {
    using T = typename decltype(tag)::type;
    bounds[0] = Scalar(double(std::numeric_limits<T>::lowest()));
    bounds[1] = Scalar(double(std::numeric_limits<T>::max()));
  });
  run_elementwise(functor_of<kernels::clamp_op>, bounded, name, from.dtype(), out, {from}, bounds);
}

void resample(const char* name, const Tensor& in, const std::vector<InterpolatedLine>& lines, bool transposed,
              const Tensor& out) {
  if (out.numel() == 0) return;
  const bool wide = out.dtype() == DType::float64 || is_integral(out.dtype(), true);
  Tensor current = dense(in, wide ? DType::float64 : DType::float32);
  // The last dimension goes first, as on the CPU.
  for (size_t d = lines.size(); d-- > 0;)
    if (!lines[d].changes_nothing())
      current =
          apply_taps(name, current, in.dim() - int64_t(lines.size()) + int64_t(d), lines[d], transposed);
  if (is_integral(out.dtype(), true)) return round_into(name, current, out);
  gpu().copy_on_device(current, out);
}

GridCall grid_call(const Tensor& in, const Tensor& grid, int64_t mode, int64_t padding, bool align_corners) {
  GridCall call{};
  call.in = in.data();
  call.grid = grid.data();
  call.batch = in.size(0);
  call.channels = in.size(1);
  call.dims = int(in.dim() - 2);
  call.positions = 1;
  for (int d = 0; d < call.dims; ++d) {
    call.sizes[d] = in.size(2 + d);
    call.positions *= grid.size(1 + d);
  }
  call.mode = int(mode);
  call.padding = int(padding);
  call.align_corners = align_corners;
  return call;
}

}  // namespace

void interpolate(const Tensor& self, IntList output_size, std::string_view mode, bool align_corners,
                 std::span<const double> scales, const Tensor& out) {
  check_dtype(kernels::domains::real, self.dtype(), "interpolate");
  resample(
      "interpolate", self,
      lines_of(self.sizes().last(output_size.size()), output_size, mode, align_corners, scales, self.dtype()),
      false, out);
}
void interpolate_backward(const Tensor& grad_output, IntList input_size, std::string_view mode,
                          bool align_corners, std::span<const double> scales, const Tensor& out) {
  check_dtype(kernels::domains::floating, grad_output.dtype(), "interpolate_backward");
  const size_t n = scales.size();
  resample("interpolate_backward", grad_output,
           lines_of(input_size.last(n), grad_output.sizes().last(n), mode, align_corners, scales,
                    grad_output.dtype()),
           true, out);
}

void grid_sampler(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding, bool align_corners,
                  const Tensor& out) {
  check_dtype(kernels::domains::floating, input.dtype(), "grid_sampler");
  if (out.numel() == 0) return;
  const Tensor in = dense(input), at = dense(grid, input.dtype());
  GridCall call = grid_call(in, at, mode, padding, align_corners);
  into_dense(out, [&](const Tensor& made) {
    call.out = made.data();
    static Variants variants;
    run_over(kGrids, variants, uint64_t(in.dtype()), "grid_sampler", made, call.batch * call.positions, call,
             [&] { return join_text("grid_sampled<", type_text(in.dtype()), ">"); });
  });
}
void grid_sampler_backward(const Tensor& grad_output, const Tensor& input, const Tensor& grid, int64_t mode,
                           int64_t padding, bool align_corners, const Tensor& grad_input,
                           const Tensor& grad_grid) {
  check_dtype(kernels::domains::floating, input.dtype(), "grid_sampler_backward");
  const Tensor in = dense(input), at = dense(grid, input.dtype()),
               gradient = dense(grad_output, input.dtype());
  GridCall call = grid_call(in, at, mode, padding, align_corners);
  call.gradient = gradient.data();
  gpu().fill(grad_input, 0);
  into_dense(grad_grid, [&](const Tensor& to_grid) {
    const Tensor to_input = dense(grad_input);  // zero, and added to
    call.grad_in = to_input.data();
    call.grad_grid = to_grid.data();
    static Variants variants;
    run_over(kGrids, variants, uint64_t(in.dtype()), "grid_sampler_backward", to_input,
             call.batch * call.positions, call,
             [&] { return join_text("grid_sampled_backward<", type_text(in.dtype()), ">"); });
    if (!to_input.same(grad_input)) gpu().copy_on_device(to_input, grad_input);
  });
}

}  // namespace mt::cuda
