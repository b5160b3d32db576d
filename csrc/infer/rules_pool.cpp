// Pooling, interpolation and sampling.
#include "infer/infer.h"

namespace mt::infer {
namespace {

constexpr int64_t kLimit = int64_t(1) << 31;  // keeps products of window options within 64 bits

Dims spatial_of(const Tensor& t, size_t spatial) {
  return Dims(t.sizes().subspan(t.sizes().size() - spatial));
}

Dims with_spatial(IntList sizes, IntList spatial) {
  Dims result(sizes);
  for (size_t i = 0; i < spatial.size(); ++i) result[result.size() - spatial.size() + i] = spatial[i];
  return result;
}

std::string by_x(IntList sizes) {
  std::string text;
  for (int64_t size : sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

// "dH: 0 dW: 0"
std::string named(const char* prefix, IntList list) {
  constexpr const char* names[] = {"T", "H", "W"};
  std::string text;
  for (size_t i = 0; i < list.size(); ++i) {
    text += (i ? " " : "") + std::string(prefix) + names[3 - list.size() + i] + ": ";
    text += std::to_string(list[i]);
  }
  return text;
}

void check_rank(const Tensor& self, size_t spatial) {
  const int64_t s = int64_t(spatial);
  MT_CHECK(self.dim() == s + 1 || self.dim() == s + 2, "non-empty ", s + 1, "D or ", s + 2,
           "D (batch mode) tensor expected for input");
}

Dims pooled(const char* name, size_t spatial, const Tensor& self, IntList kernel_size, IntList stride,
            IntList padding_size, IntList dilation_size, bool ceil_mode) {
  const auto checked = [&](IntList list, const char* what) {
    MT_CHECK(list.size() == 1 || list.size() == spatial, name, spatial, "d: ", what,
             " a single int, or a tuple of ", spatial == 2 ? "two" : "three", " ints");
    return window_list(list, spatial);
  };
  const Dims kernel = checked(kernel_size, "kernel_size must either be");
  const Dims steps = stride.empty() ? kernel : checked(stride, "stride must either be omitted,");
  const Dims padding = checked(padding_size, "padding must either be");
  const Dims dilation = checked(dilation_size, "dilation must be either");
  check_rank(self, spatial);
  for (int64_t s : steps) MT_CHECK(s != 0, "stride should not be zero");
  for (int64_t s : steps) MT_CHECK(s > 0, "stride should be greater than zero, but got ", named("d", steps));
  for (int64_t k : kernel)
    MT_CHECK(k > 0, "kernel size should be greater than zero, but got ", named("k", kernel));
  for (int64_t d : dilation)
    MT_CHECK(d > 0, "dilation should be greater than zero, but got ", named("dilation", dilation));
  const IntList sizes = self.sizes();
  const size_t batched = sizes.size() - spatial - 1;
  for (size_t i = batched; i < sizes.size(); ++i)
    MT_CHECK(sizes[i] != 0, "Expected ", spatial + 1, "D or ", spatial + 2,
             "D (batch mode) tensor with optional 0 dim batch size for input, but got:", to_string(sizes));
  Dims out;
  for (size_t i = 0; i < spatial; ++i) {
    MT_CHECK(padding[i] >= 0, "pad must be non-negative, but got pad: ", padding[i]);
    MT_CHECK(kernel[i] < kLimit && steps[i] < kLimit && dilation[i] < kLimit,
             "pooling: windows this large cannot be represented");
    MT_CHECK(padding[i] <= ((kernel[i] - 1) * dilation[i] + 1) / 2,
             "pad should be at most half of effective kernel size, but got pad=", padding[i],
             ", kernel_size=", kernel[i], " and dilation=", dilation[i]);
    out.push_back(
        pooled_size(sizes[batched + 1 + i], kernel[i], steps[i], padding[i], dilation[i], ceil_mode));
  }
  const Dims from(sizes.subspan(batched));
  Dims to{from[0]};
  for (int64_t size : out) to.push_back(size);
  for (int64_t size : out)
    MT_CHECK(size >= 1, "Given input size: (", by_x(from), "). Calculated output size: (", by_x(to),
             "). Output size is too small");
  return with_spatial(sizes, out);
}

void prepare_average(size_t spatial, const Tensor& self, IntList kernel, IntList stride, IntList padding,
                     bool ceil_mode, std::optional<int64_t> divisor, Output& out) {
  MT_CHECK(!divisor || *divisor != 0, "divisor must be not zero");
  const int64_t one[] = {1};
  const Dims sizes = pooled("avg_pool", spatial, self, kernel, stride, padding, one, ceil_mode);
  MT_CHECK_AS(not_implemented, is_floating(self.dtype()) || self.dtype() == DType::int64, "\"avg_pool",
              spatial, "d\" not implemented for '", info(self.dtype()).legacy, "'");
  out.prepare(sizes, self.dtype(), self.device());
}

void prepare_maximum(size_t spatial, const Tensor& self, IntList kernel, IntList stride, IntList padding,
                     IntList dilation, bool ceil_mode, Output& out, Output& indices) {
  const Dims sizes = pooled("max_pool", spatial, self, kernel, stride, padding, dilation, ceil_mode);
  MT_CHECK_AS(not_implemented, !is_complex(self.dtype()) && self.dtype() != DType::boolean, "\"max_pool",
              spatial, "d\" not implemented for '", info(self.dtype()).legacy, "'");
  out.prepare(sizes, self.dtype(), self.device());
  indices.prepare(sizes, DType::int64, self.device());
}

Dims adaptive(const char* name, const char* colon, const Tensor& self, IntList output_size, size_t spatial) {
  MT_CHECK(output_size.size() == spatial, name, spatial, "d: output_size must be ", spatial);
  for (int64_t size : output_size) {
    std::string text;
    for (int64_t o : output_size) text += (text.empty() ? "" : ", ") + std::to_string(o);
    MT_CHECK(size >= 0, name, spatial,
             "d: elements of output_size must be greater than or equal to 0 but received {", text, "}");
    MT_CHECK(size < kLimit, name, spatial, "d: output_size of ", size, " is too large");
  }
  MT_CHECK(self.dim() == int64_t(spatial) + 1 || self.dim() == int64_t(spatial) + 2, name, spatial,
           "d(): Expected ", spatial + 1, "D or ", spatial + 2, "D tensor, but got", colon, " ",
           to_string(self.sizes()));
  for (size_t i = self.sizes().size() - spatial; i < self.sizes().size(); ++i)
    MT_CHECK(self.sizes()[i] > 0, name, spatial,
             "d(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ",
             to_string(self.sizes()), " with dimension ", i, " being empty");
  MT_CHECK_AS(not_implemented, is_floating(self.dtype()), "\"", name, spatial, "d\" not implemented for '",
              info(self.dtype()).legacy, "'");
  return with_spatial(self.sizes(), output_size);
}

void fractional(const Tensor& self, IntList kernel, IntList output_size, const Tensor& samples,
                size_t spatial, Output& out, Output& indices) {
  constexpr const char* names[] = {"time", "height", "width"};
  const std::string name = "fractional_max_pool" + std::to_string(spatial) + "d(): ";
  MT_CHECK(kernel.size() == spatial && output_size.size() == spatial, name,
           "kernel_size and output_size must be a single int or a tuple of ", spatial, " ints");
  MT_CHECK(self.dim() == int64_t(spatial) + 1 || self.dim() == int64_t(spatial) + 2, name, "Expected ",
           spatial + 1, "D or ", spatial + 2, "D tensor, but got: ", to_string(self.sizes()));
  const size_t first = self.sizes().size() - spatial;
  for (size_t i = first - 1; i < self.sizes().size(); ++i)
    MT_CHECK(self.sizes()[i] > 0, name,
             "Expected input to have non-zero size for non-batch dimensions, but got ",
             to_string(self.sizes()), " with dimension ", i, " being empty.");
  for (size_t i = 0; i < spatial; ++i) {
    MT_CHECK(kernel[i] > 0 && output_size[i] > 0, name,
             "kernel_size and output_size must be greater than zero, but got ", to_string(kernel), " and ",
             to_string(output_size));
    MT_CHECK(output_size[i] < kLimit && kernel[i] < kLimit &&
                 output_size[i] + kernel[i] - 1 <= self.sizes()[first + i],
             name, "pool ", names[3 - spatial + i], " ", kernel[i], " too large relative to input ",
             names[3 - spatial + i], " ", self.sizes()[first + i]);
  }
  const int64_t batch = first == 2 ? self.sizes()[0] : 1, channels = self.sizes()[first - 1];
  const int64_t wanted[] = {batch, channels, int64_t(spatial)};
  check_same_device({&self, &samples});
  MT_CHECK(samples.dtype() == self.dtype(), "Expect _random_samples to have the same dtype as input");
  MT_CHECK(std::ranges::equal(samples.sizes(), wanted), "Expect _random_samples of size ", to_string(wanted),
           ", but got ", to_string(samples.sizes()));
  MT_CHECK_AS(not_implemented, is_floating(self.dtype()), "\"fractional_max_pool", spatial,
              "d\" not implemented for '", info(self.dtype()).legacy, "'");
  const Dims sizes = with_spatial(self.sizes(), output_size);
  out.prepare(sizes, self.dtype(), self.device());
  indices.prepare(sizes, DType::int64, self.device());
}

}  // namespace

Dims window_list(IntList list, size_t spatial) {
  return list.size() == 1 ? Dims(spatial, list[0]) : Dims(list);
}

int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                    bool ceil_mode) {
  const int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
  const int64_t floor = room >= 0 ? room / stride : -((-room + stride - 1) / stride);
  // The last window must begin inside the input or the padding before it.
  const int64_t out = floor + 1;
  return ceil_mode && (out - 1) * stride >= in + padding ? out - 1 : out;
}

void avg_pool2d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
                bool, std::optional<int64_t> divisor_override, Output& out) {
  prepare_average(2, self, kernel_size, stride, padding, ceil_mode, divisor_override, out);
}
void avg_pool3d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
                bool, std::optional<int64_t> divisor_override, Output& out) {
  prepare_average(3, self, kernel_size, stride, padding, ceil_mode, divisor_override, out);
}
void avg_pool_backward(const Tensor& grad_output, IntList input_size, int64_t, IntList, IntList, IntList,
                       bool, bool, std::optional<int64_t>, Output& out) {
  out.prepare(input_size, grad_output.dtype(), grad_output.device());
}

void max_pool2d_backward(const Tensor& grad_output, const Tensor& self, IntList, IntList, IntList, IntList,
                         bool, const Tensor& indices, Output& out) {
  plane_scatter(grad_output, indices, self.sizes(), 2, true, out);
}

void adaptive_avg_pool2d(const Tensor& self, IntList output_size, Output& out) {
  out.prepare(adaptive("adaptive_avg_pool", "", self, output_size, 2), self.dtype(), self.device());
}
void adaptive_avg_pool3d(const Tensor& self, IntList output_size, Output& out) {
  out.prepare(adaptive("adaptive_avg_pool", "", self, output_size, 3), self.dtype(), self.device());
}
void adaptive_avg_pool_backward(const Tensor& grad_output, IntList input_size, int64_t, Output& out) {
  out.prepare(input_size, grad_output.dtype(), grad_output.device());
}

void max_pool2d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                bool ceil_mode, Output& out, Output& indices) {
  prepare_maximum(2, self, kernel_size, stride, padding, dilation, ceil_mode, out, indices);
}
void max_pool3d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                bool ceil_mode, Output& out, Output& indices) {
  prepare_maximum(3, self, kernel_size, stride, padding, dilation, ceil_mode, out, indices);
}

void adaptive_max_pool2d(const Tensor& self, IntList output_size, Output& out, Output& indices) {
  const Dims sizes = adaptive("adaptive_max_pool", ":", self, output_size, 2);
  out.prepare(sizes, self.dtype(), self.device());
  indices.prepare(sizes, DType::int64, self.device());
}
void adaptive_max_pool3d(const Tensor& self, IntList output_size, Output& out, Output& indices) {
  const Dims sizes = adaptive("adaptive_max_pool", ":", self, output_size, 3);
  out.prepare(sizes, self.dtype(), self.device());
  indices.prepare(sizes, DType::int64, self.device());
}

void fractional_max_pool2d(const Tensor& self, IntList kernel_size, IntList output_size,
                           const Tensor& random_samples, Output& out, Output& indices) {
  fractional(self, kernel_size, output_size, random_samples, 2, out, indices);
}
void fractional_max_pool3d(const Tensor& self, IntList kernel_size, IntList output_size,
                           const Tensor& random_samples, Output& out, Output& indices) {
  fractional(self, kernel_size, output_size, random_samples, 3, out, indices);
}

namespace {

void check_places(const Tensor& indices, IntList values, IntList planes, int64_t spatial) {
  MT_CHECK(indices.dtype() == DType::int64,
           "elements in indices should be type int64 but got: ", info(indices.dtype()).legacy);
  MT_CHECK(std::ranges::equal(indices.sizes(), values),
           "Expected shape of indices to be same as that of the input tensor (", to_string(values),
           ") but got indices tensor with shape: ", to_string(indices.sizes()));
  const size_t leading = values.size() - size_t(spatial);
  MT_CHECK(spatial >= 1 && spatial <= 3 && int64_t(values.size()) >= spatial &&
               planes.size() == values.size() &&
               std::ranges::equal(values.subspan(0, leading), planes.subspan(0, leading)),
           "max_unpool: values of ", to_string(values), " do not belong to planes of ", to_string(planes));
}

}  // namespace

void plane_scatter(const Tensor& values, const Tensor& indices, IntList size, int64_t spatial, bool,
                   Output& out) {
  check_places(indices, values.sizes(), size, spatial);
  check_same_device({&values, &indices});
  out.prepare(size, values.dtype(), values.device());
}
void plane_gather(const Tensor& self, const Tensor& indices, int64_t spatial, Output& out) {
  check_places(indices, indices.sizes(), self.sizes(), spatial);
  check_same_device({&self, &indices});
  out.prepare(indices.sizes(), self.dtype(), self.device());
}

void interpolate(const Tensor& self, IntList output_size, std::string_view mode, bool,
                 std::span<const double> scales, Output& out) {
  const size_t spatial = output_size.size();
  MT_CHECK(spatial >= 1 && spatial <= 3 && self.dim() == int64_t(spatial) + 2 && scales.size() == spatial,
           "It is expected input_size equals to ", spatial + 2, ", but got size ", self.dim());
  const Dims in = spatial_of(self, spatial);
  bool positive = true;
  for (int64_t size : in) positive &= size > 0;
  for (int64_t size : output_size) positive &= size > 0 && size < kLimit;
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
  out.prepare(with_spatial(self.sizes(), output_size), self.dtype(), self.device());
}
void interpolate_backward(const Tensor& grad_output, IntList input_size, std::string_view, bool,
                          std::span<const double>, Output& out) {
  out.prepare(input_size, grad_output.dtype(), grad_output.device());
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
