// Tensors of one spatial dimension are seen with two.
#include "generated/cuda/conv.h"

#include <algorithm>
#include <array>

#include "backends/cuda/cudnn.h"
#include "base/error.h"
#include "core/views.h"
#include "generated/ops/binary_tables.h"

namespace mt::cuda {
namespace {

int number_of(DType dtype) {
  switch (dtype) {
    case DType::float32: return dnn::kFloat32;
    case DType::float64: return dnn::kFloat64;
    case DType::float16: return dnn::kFloat16;
    case DType::bfloat16: return dnn::kBfloat16;
    default:
      fail(ErrorKind::runtime,
           "GET was unable to find an engine to execute this computation: a convolution of ",
           info(dtype).name, " tensors; cuDNN has float16, bfloat16, float32 and float64");
  }
}

MemoryFormat format_with_channels_last(const Tensor& tensor) {
  return tensor.dim() == 5 ? MemoryFormat::channels_last_3d : MemoryFormat::channels_last;
}

// Tensors that are both keep rows: channels come last only where that says something.
bool has_channels_last(const Tensor& tensor) {
  return tensor.dim() >= 4 && !tensor.is_contiguous() &&
         tensor.is_contiguous(format_with_channels_last(tensor));
}

using Five = std::array<int64_t, 5>;

Five sizes_of(const Tensor& tensor) {
  Five sizes{};
  if (tensor.dim() == 3) return {tensor.sizes()[0], tensor.sizes()[1], 1, tensor.sizes()[2], 0};
  std::copy(tensor.sizes().begin(), tensor.sizes().end(), sizes.begin());
  return sizes;
}

// Of dense tensors; those of dimensions of one element are what cuDNN expects, whatever the tensor says.
Five strides_of(const Five& sizes, int dims, bool channels_last) {
  Five strides{};
  int64_t step = 1;
  const auto place = [&](int dim) {
    strides[size_t(dim)] = step;
    step *= std::max<int64_t>(sizes[size_t(dim)], 1);
  };
  if (channels_last) place(1);
  for (int dim = dims - 1; dim >= 2; --dim) place(dim);
  if (!channels_last) place(1);
  place(0);
  return strides;
}

Tensor new_in_format(const Tensor& like, bool channels_last) {
  if (!channels_last) return new_tensor(like.sizes(), like.dtype(), like.device());
  Five sizes{};
  std::copy(like.sizes().begin(), like.sizes().end(), sizes.begin());
  const Five strides = strides_of(sizes, int(like.dim()), true);
  return new_tensor_strided(like.sizes(), IntList(strides.data(), size_t(like.dim())), like.dtype(),
                            like.device());
}

bool is_in_format(const Tensor& tensor, bool channels_last) {
  return channels_last ? tensor.is_contiguous(format_with_channels_last(tensor)) : tensor.is_contiguous();
}

// The tensor itself, or a copy in this order.
Tensor in_format(const Place& place, const Tensor& tensor, bool channels_last) {
  if (is_in_format(tensor, channels_last)) return tensor;
  const Tensor copy = new_in_format(tensor, channels_last);
  place.accelerator.copy_on_device(tensor, copy);
  return copy;
}

int32_t alignment_of(std::initializer_list<const void*> addresses) {
  uintptr_t bits = 16;
  for (const void* address : addresses) bits |= reinterpret_cast<uintptr_t>(address);
  return int32_t(bits & -bits);
}

std::array<int64_t, 3> three(IntList list, int64_t missing) {
  std::array<int64_t, 3> result{};
  if (list.size() == 1) return {missing, list[0], 0};
  std::copy(list.begin(), list.end(), result.begin());
  return result;
}

struct Options {
  IntList stride, padding, dilation;
};

// Computes the one of x, w and y that `kind` names, all of them dense and in one order.
void run(const Place& place, ConvolutionKind kind, const Tensor& x, const Tensor& w, const Tensor& y,
         const Options& options, bool channels_last, const char* name) {
  ConvolutionShape shape{};
  shape.dims = std::max(4, int(x.dim()));
  shape.x_sizes = sizes_of(x);
  shape.w_sizes = sizes_of(w);
  shape.y_sizes = sizes_of(y);
  shape.x_strides = strides_of(shape.x_sizes, shape.dims, channels_last);
  shape.w_strides = strides_of(shape.w_sizes, shape.dims, channels_last);
  shape.y_strides = strides_of(shape.y_sizes, shape.dims, channels_last);
  shape.stride = three(options.stride, 1);
  shape.padding = three(options.padding, 0);
  shape.dilation = three(options.dilation, 1);
  shape.number = number_of(x.dtype());
  shape.kind = kind;
  shape.alignment = alignment_of({x.data(), w.data(), y.data()});
  shape.tf32 = settings().tf32_convolutions.load(std::memory_order_relaxed);
  shape.deterministic = settings().deterministic.load(std::memory_order_relaxed);
  shape.benchmark = settings().benchmark.load(std::memory_order_relaxed);
  shape.device = place.index();
  convolve(place, shape, x.data(), w.data(), y.data(), name);
}

void fill_zero(const Place& place, const Tensor& tensor) {
  MT_CHECK(place.accelerator.fill(tensor, Scalar(0)), "zeros of ", info(tensor.dtype()).name,
           " cannot be made on ", place.accelerator.title());
}

void add_bias(const Tensor& bias, const Tensor& out) {
  if (!bias.defined()) return;
  Dims shape(size_t(out.dim()), 1);
  shape[1] = bias.sizes()[0];
  const Dims strides = [&] {
    Dims made(size_t(out.dim()), 0);
    made[1] = bias.strides()[0];
    return made;
  }();
  const Tensor per_channel = views::window(bias, shape, strides, bias.offset());
  table::add_Tensor.find(out.device())(out, per_channel, Scalar(1), out);
}

// A transposed convolution may have more elements than the last window needs; convolving them again gives more windows
// than there are gradients. Those that are missing are zero.
Tensor for_all_windows(const Place& place, const Tensor& y, const Tensor& x, IntList kernel,
                       const Options& options) {
  Dims sizes(y.sizes());
  for (size_t i = 0; i < kernel.size(); ++i)
    sizes[2 + i] = (x.sizes()[2 + i] + 2 * options.padding[i] - options.dilation[i] * (kernel[i] - 1) - 1) /
                       options.stride[i] +
                   1;
  if (std::ranges::equal(sizes, y.sizes())) return y;
  const Tensor all = new_tensor(sizes, y.dtype(), y.device());
  fill_zero(place, all);
  Tensor part = all;
  for (size_t i = 0; i < kernel.size(); ++i)
    part = views::slice(part, int64_t(2 + i), 0, y.sizes()[2 + i], 1);
  place.accelerator.copy_on_device(y, part);
  return all;
}

void finish(const Place& place, const Tensor& result, const Tensor& out) {
  if (!result.same(out)) place.accelerator.copy_on_device(result, out);
}

// cuDNN knows no complex numbers. All three are products of their tensors, so real ones of the parts make them.
template <class Multiply>
void multiply_parts(const Place& place, const Tensor& a, const Tensor& b, const Tensor& out,
                    const Multiply& multiply) {
  const auto part_of = [](const Tensor& t, int64_t which) {
    return views::select(views::view_as_real(t), -1, which);
  };
  const auto parts_of = [&](const Tensor& t) {
    return std::array{place.accelerator.contiguous(part_of(t, 0)),
                      place.accelerator.contiguous(part_of(t, 1))};
  };
  const std::array x = parts_of(a), y = parts_of(b);
  const auto product = [&](const Tensor& of_a, const Tensor& of_b) {
    const Tensor made = new_tensor(out.sizes(), real_type(out.dtype()), out.device());
    multiply(of_a, of_b, made);
    return made;
  };
  const Device device = out.device();
  table::sub_Tensor.find(device)(product(x[0], y[0]), product(x[1], y[1]), Scalar(1), part_of(out, 0));
  table::add_Tensor.find(device)(product(x[0], y[1]), product(x[1], y[0]), Scalar(1), part_of(out, 1));
}

}  // namespace

void convolve(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
              IntList dilation, int64_t groups, const Tensor& out) {
  if (out.numel() == 0) return;
  const Place place(out);
  if (input.numel() == 0 || weight.numel() == 0) {
    fill_zero(place, out);
    return add_bias(bias, out);
  }
  if (is_complex(out.dtype())) {
    multiply_parts(place, input, weight, out, [&](const Tensor& x, const Tensor& w, const Tensor& made) {
      convolve(x, w, {}, stride, padding, dilation, groups, made);
    });
    return add_bias(bias, out);
  }
  const bool channels_last = has_channels_last(out);
  const Tensor result = is_in_format(out, channels_last) ? out : new_in_format(out, channels_last);
  run(place, ConvolutionKind::forward, in_format(place, input, channels_last),
      in_format(place, weight, channels_last), result, {stride, padding, dilation}, channels_last,
      "convolution");
  finish(place, result, out);
  add_bias(bias, out);
}

void convolve_transposed(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList output_size,
                         IntList stride, IntList padding, IntList dilation, int64_t groups,
                         const Tensor& out) {
  if (out.numel() == 0) return;
  const Place place(out);
  if (input.numel() == 0 || weight.numel() == 0) {
    fill_zero(place, out);
    return add_bias(bias, out);
  }
  if (is_complex(out.dtype())) {
    multiply_parts(place, input, weight, out, [&](const Tensor& x, const Tensor& w, const Tensor& made) {
      convolve_transposed(x, w, {}, output_size, stride, padding, dilation, groups, made);
    });
    return add_bias(bias, out);
  }
  const bool channels_last = has_channels_last(out);
  const Options options{stride, padding, dilation};
  const Tensor y = for_all_windows(place, input, out, weight.sizes().subspan(2), options);
  const Tensor result = is_in_format(out, channels_last) ? out : new_in_format(out, channels_last);
  run(place, ConvolutionKind::data, result, in_format(place, weight, channels_last),
      in_format(place, y, channels_last), options, channels_last, "convolution_transposed");
  finish(place, result, out);
  add_bias(bias, out);
}

void convolve_weight(const Tensor& input, const Tensor& grad_output, IntList kernel_size, IntList stride,
                     IntList padding, IntList dilation, int64_t groups, const Tensor& out) {
  if (out.numel() == 0) return;
  const Place place(out);
  if (input.numel() == 0 || grad_output.numel() == 0) return fill_zero(place, out);
  if (is_complex(out.dtype()))
    return multiply_parts(place, input, grad_output, out,
                          [&](const Tensor& x, const Tensor& y, const Tensor& made) {
                            convolve_weight(x, y, kernel_size, stride, padding, dilation, groups, made);
                          });
  const bool channels_last = has_channels_last(input) || has_channels_last(grad_output);
  const Options options{stride, padding, dilation};
  const Tensor y = for_all_windows(place, grad_output, input, kernel_size, options);
  const Tensor result = is_in_format(out, channels_last) ? out : new_in_format(out, channels_last);
  run(place, ConvolutionKind::filter, in_format(place, input, channels_last), result,
      in_format(place, y, channels_last), options, channels_last, "convolution_weight");
  finish(place, result, out);
}

}  // namespace mt::cuda
