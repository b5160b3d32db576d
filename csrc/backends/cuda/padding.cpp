#include "generated/cuda/padding.h"

#include "backends/cuda/dense.h"
#include "backends/cuda/program.h"
#include "base/edge.h"
#include "kernels/common/convert.h"

namespace mt::cuda {
namespace {

constexpr Family kPads{"copy.h", "PadCall"};

// `pad` counts from the last dimension on, two numbers for each.
PadCall pad_call(const char* name, const Tensor& inner, IntList pad, const Tensor& padded) {
  PadCall call{};
  call.walk = walk_each(name, padded.sizes(), {{inner, call.in}, {padded, call.out}});
  for (int d = 0; d < call.walk.dims; ++d) {
    call.in_sizes[d] = inner.size(-1 - d);
    call.before[d] = size_t(2 * d) < pad.size() ? pad[size_t(2 * d)] : 0;
  }
  return call;
}

const char* mode_text(int64_t mode) {
  switch (Edge(mode)) {
    case Edge::reflect: return "Padding::reflect";
    case Edge::replicate: return "Padding::replicate";
    default: return "Padding::circular";
  }
}

}  // namespace

void constant_pad(const Tensor& self, IntList pad, const Scalar& value, const Tensor& out) {
  if (self.numel() == 0) return void(gpu().fill(out, value));
  const Tensor in = as_dtype(self, out.dtype());
  PadCall call = pad_call("constant_pad_nd", in, pad, out);
  kernels::store_scalar(value, out.dtype(), call.value);
  static Variants variants;
  run_over(kPads, variants, out.itemsize(), "constant_pad_nd", out, call.walk.count, call,
           [&] { return join_text("padded<", unit_text(out.dtype()), ", Padding::constant>"); });
}

void extend_edges(const Tensor& self, IntList pad, int64_t mode, const Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor in = as_dtype(self, out.dtype());
  const PadCall call = pad_call("pad", in, pad, out);
  static Variants variants;
  run_over(kPads, variants, uint64_t(mode) << 8 | out.itemsize(), "pad", out, call.walk.count, call,
           [&] { return join_text("padded<", unit_text(out.dtype()), ", ", mode_text(mode), ">"); });
}

void extend_edges_backward(const Tensor& grad, IntList pad, int64_t mode, const Tensor& out) {
  if (out.numel() == 0) return;
  check_dtype(kernels::domains::inexact, out.dtype(), "pad_backward");
  gpu().fill(out, 0);
  const Tensor gradient = as_dtype(grad, out.dtype());
  const PadCall call = pad_call("pad_backward", out, pad, gradient);
  static Variants variants;
  run_over(kPads, variants, uint64_t(mode) << 8 | uint64_t(out.dtype()), "pad_backward", out, call.walk.count,
           call,
           [&] { return join_text("padded_backward<", type_text(out.dtype()), ", ", mode_text(mode), ">"); });
}

}  // namespace mt::cuda
