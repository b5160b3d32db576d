// The windows of the options as kernels are told of them: three dimensions, those in front of size 1.
#include "generated/cuda/pool.h"

#include "backends/cuda/dense.h"
#include "backends/cuda/program.h"
#include "infer/spatial.h"

namespace mt::cuda {
namespace {

constexpr Family kPools{"pool.h", "PoolCall"};

PoolCall planes_call(IntList in, IntList out, int64_t planes) {
  PoolCall call{};
  call.planes = planes;
  for (size_t d = 0; d < 3; ++d) {
    const size_t n = in.size(), outside = 3 - n;
    call.in_size[d] = d < outside ? 1 : in[d - outside];
    call.out_size[d] = d < outside ? 1 : out[d - outside];
    call.kernel[d] = call.stride[d] = call.dilation[d] = 1;
  }
  return call;
}

// Tensors [..., in] and [..., out].
PoolCall adaptive_call(IntList in, IntList out, int64_t planes) {
  PoolCall call = planes_call(in, out, planes);
  call.adaptive = 1;
  return call;
}
PoolCall window_call(IntList in, IntList out, int64_t planes, IntList kernel_size, IntList stride,
                     IntList padding_size, IntList dilation_size) {
  PoolCall call = planes_call(in, out, planes);
  const size_t n = in.size();
  const Dims kernel = infer::window_list(kernel_size, n), padding = infer::window_list(padding_size, n);
  const Dims steps = stride.empty() ? kernel : infer::window_list(stride, n);
  const Dims dilation = infer::window_list(dilation_size, n);
  for (size_t i = 0; i < n; ++i) {
    const size_t d = 3 - n + i;
    call.kernel[d] = kernel[i];
    call.stride[d] = steps[i];
    call.padding[d] = padding[i];
    call.dilation[d] = dilation[i];
  }
  return call;
}
PoolCall average_call(IntList in, IntList out, int64_t planes, IntList kernel, IntList stride,
                      IntList padding, bool count_padding, std::optional<int64_t> divisor) {
  const int64_t one = 1;
  PoolCall call = window_call(in, out, planes, kernel, stride, padding, {&one, 1});
  call.count_padding = count_padding;
  call.divisor = divisor.value_or(0);
  return call;
}

int64_t volume(IntList sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}
// How many planes of the last n dimensions a tensor that is not empty has.
int64_t planes_of(const Tensor& tensor, size_t n) { return tensor.numel() / volume(tensor.sizes().last(n)); }

void average(const char* name, PoolCall call, const Tensor& self, const Tensor& out) {
  check_dtype(kernels::domains::real, self.dtype(), name);
  const Tensor in = dense(self, out.dtype());
  call.in = in.data();
  into_dense(out, [&](const Tensor& made) {
    call.out = made.data();
    static Variants variants;
    run_over(kPools, variants, uint64_t(out.dtype()), name, out, made.numel(), call,
             [&] { return join_text("avg_pooled<", type_text(out.dtype()), ">"); });
  });
}
void average_backward(const char* name, PoolCall call, const Tensor& grad, const Tensor& out) {
  check_dtype(kernels::domains::floating, out.dtype(), name);
  const Tensor gradient = dense(grad, out.dtype());
  call.gradient = gradient.data();
  into_dense(out, [&](const Tensor& made) {
    call.out = made.data();
    static Variants variants;
    run_over(kPools, variants, uint64_t(out.dtype()), name, out, made.numel(), call,
             [&] { return join_text("avg_pooled_backward<", type_text(out.dtype()), ">"); });
  });
}
void maximum(const char* name, PoolCall call, const Tensor& self, const Tensor& out, const Tensor& indices) {
  check_dtype(kernels::domains::real, self.dtype(), name);
  const Tensor in = dense(self, out.dtype());
  call.in = in.data();
  into_dense(out, [&](const Tensor& made) {
    into_dense(indices, [&](const Tensor& places) {
      call.out = made.data();
      call.indices = static_cast<long long*>(places.data());
      static Variants variants;
      run_over(kPools, variants, uint64_t(out.dtype()), name, out, made.numel(), call,
               [&] { return join_text("max_pooled<", type_text(out.dtype()), ">"); });
    });
  });
}

void average_windows(const char* name, size_t n, const Tensor& self, IntList kernel, IntList stride,
                     IntList padding, bool count_padding, std::optional<int64_t> divisor, const Tensor& out) {
  if (out.numel() == 0) return;
  average(name,
          average_call(self.sizes().last(n), out.sizes().last(n), planes_of(out, n), kernel, stride, padding,
                       count_padding, divisor),
          self, out);
}
void maximum_windows(const char* name, size_t n, const Tensor& self, IntList kernel, IntList stride,
                     IntList padding, IntList dilation, const Tensor& out, const Tensor& indices) {
  if (out.numel() == 0) return;
  maximum(name,
          window_call(self.sizes().last(n), out.sizes().last(n), planes_of(out, n), kernel, stride, padding,
                      dilation),
          self, out, indices);
}

void scatter_planes(const char* name, const Tensor& values, const Tensor& indices, size_t n, bool accumulate,
                    const Tensor& out) {
  gpu().fill(out, 0);
  if (values.numel() == 0 || out.numel() == 0) return;
  check_dtype(kernels::domains::real, out.dtype(), name);
  PoolCall call = planes_call(out.sizes().last(n), values.sizes().last(n), planes_of(values, n));
  const Tensor from = dense(values, out.dtype()), at = dense(indices, DType::int64);
  call.gradient = from.data();
  call.indices = static_cast<long long*>(at.data());
  const Tensor made = dense(out);
  call.out = made.data();
  static Variants variants;
  run_over(kPools, variants, uint64_t(out.dtype()) << 1 | uint64_t(accumulate), name, out, values.numel(),
           call, [&] {
             return join_text("plane_scattered<", type_text(out.dtype()), ", ",
                              accumulate ? "true>" : "false>");
           });
  if (!made.same(out)) gpu().copy_on_device(made, out);
}

}  // namespace

void avg_pool2d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool,
                bool count_include_pad, std::optional<int64_t> divisor_override, const Tensor& out) {
  average_windows("avg_pool2d", 2, self, kernel_size, stride, padding, count_include_pad, divisor_override,
                  out);
}
void avg_pool3d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool,
                bool count_include_pad, std::optional<int64_t> divisor_override, const Tensor& out) {
  average_windows("avg_pool3d", 3, self, kernel_size, stride, padding, count_include_pad, divisor_override,
                  out);
}
void avg_pool_backward(const Tensor& grad_output, IntList input_size, int64_t spatial, IntList kernel_size,
                       IntList stride, IntList padding, bool, bool count_include_pad,
                       std::optional<int64_t> divisor_override, const Tensor& out) {
  if (out.numel() == 0) return;
  const size_t n = size_t(spatial);
  average_backward("avg_pool_backward",
                   average_call(input_size.last(n), grad_output.sizes().last(n), planes_of(out, n),
                                kernel_size, stride, padding, count_include_pad, divisor_override),
                   grad_output, out);
}

void adaptive_avg_pool(const Tensor& self, IntList output_size, const Tensor& out) {
  if (out.numel() == 0) return;
  const size_t n = output_size.size();
  average("adaptive_avg_pool", adaptive_call(self.sizes().last(n), output_size, planes_of(out, n)), self,
          out);
}
void adaptive_avg_pool_backward(const Tensor& grad_output, IntList input_size, int64_t spatial,
                                const Tensor& out) {
  if (out.numel() == 0) return;
  const size_t n = size_t(spatial);
  average_backward("adaptive_avg_pool_backward",
                   adaptive_call(input_size.last(n), grad_output.sizes().last(n), planes_of(out, n)),
                   grad_output, out);
}

void max_pool2d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                bool, const Tensor& out, const Tensor& indices) {
  maximum_windows("max_pool2d", 2, self, kernel_size, stride, padding, dilation, out, indices);
}
void max_pool3d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                bool, const Tensor& out, const Tensor& indices) {
  maximum_windows("max_pool3d", 3, self, kernel_size, stride, padding, dilation, out, indices);
}
void adaptive_max_pool(const Tensor& self, IntList output_size, const Tensor& out, const Tensor& indices) {
  if (out.numel() == 0) return;
  const size_t n = output_size.size();
  maximum("adaptive_max_pool", adaptive_call(self.sizes().last(n), output_size, planes_of(out, n)), self, out,
          indices);
}

void plane_scatter(const Tensor& values, const Tensor& indices, IntList, int64_t spatial, bool accumulate,
                   const Tensor& out) {
  scatter_planes("max_unpool", values, indices, size_t(spatial), accumulate, out);
}
void max_pool2d_backward(const Tensor& grad_output, const Tensor&, IntList, IntList, IntList, IntList, bool,
                         const Tensor& indices, const Tensor& out) {
  scatter_planes("max_pool2d_backward", grad_output, indices, 2, true, out);
}
void plane_gather(const Tensor& self, const Tensor& indices, int64_t spatial, const Tensor& out) {
  if (out.numel() == 0) return;
  const size_t n = size_t(spatial);
  PoolCall call = planes_call(self.sizes().last(n), out.sizes().last(n), planes_of(out, n));
  const Tensor in = dense(self, out.dtype()), at = dense(indices, DType::int64);
  call.in = in.data();
  call.indices = static_cast<long long*>(at.data());
  into_dense(out, [&](const Tensor& made) {
    call.out = made.data();
    static Variants variants;
    run_over(kPools, variants, out.itemsize(), "max_unpool_backward", out, made.numel(), call,
             [&] { return join_text("plane_gathered<", unit_text(out.dtype()), ">"); });
  });
}

}  // namespace mt::cuda
