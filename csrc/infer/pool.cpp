#include "generated/infer/pool.h"

#include "infer/spatial.h"

namespace mt::infer {
namespace {

int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                    bool ceil_mode) {
  const int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
  const int64_t floor = room >= 0 ? room / stride : -((-room + stride - 1) / stride);
  // The last window must begin inside the input or the padding before it.
  const int64_t out = floor + 1;
  return ceil_mode && (out - 1) * stride >= in + padding ? out - 1 : out;
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
  Dims out;
  for (size_t i = 0; i < spatial; ++i) {
    MT_CHECK(padding[i] >= 0, "pad must be non-negative, but got pad: ", padding[i]);
    MT_CHECK(kernel[i] < kSpatialLimit && steps[i] < kSpatialLimit && dilation[i] < kSpatialLimit,
             "pooling: windows this large cannot be represented");
    MT_CHECK(padding[i] <= ((kernel[i] - 1) * dilation[i] + 1) / 2,
             "pad should be at most half of effective kernel size, but got pad=", padding[i],
             ", kernel_size=", kernel[i], " and dilation=", dilation[i]);
    out.push_back(
        pooled_size(sizes[batched + 1 + i], kernel[i], steps[i], padding[i], dilation[i], ceil_mode));
  }
  for (size_t i = batched; i < sizes.size(); ++i) {
    MT_CHECK(sizes[i] != 0 || spatial != 3, name, spatial,
             "d(): Expected input's non-batch dimensions to have positive length, but input has a shape of ",
             to_string(sizes), " and non-batch dimension ", i - batched, " has length zero!");
    MT_CHECK(sizes[i] != 0, "Expected ", spatial + 1, "D or ", spatial + 2,
             "D (batch mode) tensor with optional 0 dim batch size for input, but got:", to_string(sizes));
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
  out.prepare_images(sizes, self.dtype(), self.device(), {&self});
}

void prepare_maximum(size_t spatial, const Tensor& self, IntList kernel, IntList stride, IntList padding,
                     IntList dilation, bool ceil_mode, Output& out, Output& indices) {
  const Dims sizes = pooled("max_pool", spatial, self, kernel, stride, padding, dilation, ceil_mode);
  MT_CHECK_AS(not_implemented, !is_complex(self.dtype()) && self.dtype() != DType::boolean, "\"max_pool",
              spatial, "d\" not implemented for '", info(self.dtype()).legacy, "'");
  out.prepare_images(sizes, self.dtype(), self.device(), {&self});
  indices.prepare_images(sizes, DType::int64, self.device(), {&self});
}

Dims adaptive(const char* name, const char* colon, const Tensor& self, IntList output_size, size_t spatial) {
  const bool maxima = *colon;  // PyTorch's two kinds speak differently
  MT_CHECK(output_size.size() == spatial, name, spatial,
           maxima ? "d(): internal error: output_size.size() must be " : "d: output_size must be ", spatial);
  MT_CHECK(self.dim() == int64_t(spatial) + 1 || self.dim() == int64_t(spatial) + 2, name, spatial,
           "d(): Expected ", spatial + 1, "D or ", spatial + 2, "D tensor, but got", colon, " ",
           to_string(self.sizes()));
  for (int64_t size : output_size) {
    MT_CHECK(size >= 0 || !maxima, "Trying to create tensor with negative dimension ", size, ": ",
             to_string(with_spatial(self.sizes(), output_size)));
    std::string text;
    for (int64_t o : output_size) text += (text.empty() ? "" : ", ") + std::to_string(o);
    MT_CHECK(size >= 0, name, spatial,
             "d: elements of output_size must be greater than or equal to 0 but received {", text, "}");
    MT_CHECK(size < kSpatialLimit, name, spatial, "d: output_size of ", size, " is too large");
  }
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
    MT_CHECK(output_size[i] < kSpatialLimit && kernel[i] < kSpatialLimit &&
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
  out.prepare_images(input_size, grad_output.dtype(), grad_output.device(), {&grad_output});
}

void max_pool2d_backward(const Tensor& grad_output, const Tensor& self, IntList, IntList, IntList, IntList,
                         bool, const Tensor& indices, Output& out) {
  plane_scatter(grad_output, indices, self.sizes(), 2, true, out);
}

void adaptive_avg_pool2d(const Tensor& self, IntList output_size, Output& out) {
  out.prepare_images(adaptive("adaptive_avg_pool", "", self, output_size, 2), self.dtype(), self.device(),
                     {&self});
}
void adaptive_avg_pool3d(const Tensor& self, IntList output_size, Output& out) {
  out.prepare_images(adaptive("adaptive_avg_pool", "", self, output_size, 3), self.dtype(), self.device(),
                     {&self});
}
void adaptive_avg_pool_backward(const Tensor& grad_output, IntList input_size, int64_t, Output& out) {
  out.prepare_images(input_size, grad_output.dtype(), grad_output.device(), {&grad_output});
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
  out.prepare_images(sizes, self.dtype(), self.device(), {&self});
  indices.prepare_images(sizes, DType::int64, self.device(), {&self});
}
void adaptive_max_pool3d(const Tensor& self, IntList output_size, Output& out, Output& indices) {
  const Dims sizes = adaptive("adaptive_max_pool", ":", self, output_size, 3);
  out.prepare_images(sizes, self.dtype(), self.device(), {&self});
  indices.prepare_images(sizes, DType::int64, self.device(), {&self});
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
  out.prepare_images(size, values.dtype(), values.device(), {&values, &indices});
}
void plane_gather(const Tensor& self, const Tensor& indices, int64_t spatial, Output& out) {
  check_places(indices, indices.sizes(), self.sizes(), spatial);
  check_same_device({&self, &indices});
  out.prepare(indices.sizes(), self.dtype(), self.device());
}

}  // namespace mt::infer
