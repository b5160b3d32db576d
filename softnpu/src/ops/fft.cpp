// Fourier transforms of real signals.
#include "kernels/fft/fft.h"

#include <cmath>

#include "kernels/common/copy.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "op_plans.h"
#include "ops/common/temporary.h"
#include "ops/common/views.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// A result of complex numbers: complex itself, or real with the two parts as a last dimension of their own, or side by
// side in the last one. Gives the complex view of all three.
Operand complex_result(const Plan& plan, const Operand& out, const std::vector<int64_t>& sizes) {
  Operand result = out;
  const DType wanted = mt::complex_type(out.dtype);
  const int ndim = int(sizes.size());
  if (mt::is_complex(out.dtype)) {
    plan.require_shape(out, "out", sizes);
    return result;
  }
  const bool own = out.ndim == ndim + 1 && out.sizes[ndim] == 2 && out.strides[ndim] == 1;
  const bool side_by_side =
      out.ndim == ndim && out.strides[ndim - 1] == 1 && out.sizes[ndim - 1] == 2 * sizes.back();
  bool fits = own || side_by_side;
  for (int i = 0; fits && i < ndim; ++i) {
    fits = out.sizes[i] == sizes[size_t(i)] || (side_by_side && i == ndim - 1);
    result.sizes[i] = sizes[size_t(i)];
    fits = fits && (out.strides[i] % 2 == 0 || out.sizes[i] == 1 || (side_by_side && i == ndim - 1));
    result.strides[i] = side_by_side && i == ndim - 1 ? 1 : out.strides[i] / 2;
  }
  if (!fits || out.offset % int64_t(mt::itemsize(wanted)) != 0)
    plan.invalid("tensor 'out' has shape ", shape_text(out),
                 ", wanted the pairs of complex numbers one after the other");
  result.ndim = int16_t(ndim);
  result.dtype = wanted;
  return result;
}

}  // namespace

void aclRfft1D(Plan& plan, const aclTensor* self, int64_t n, int64_t dim, int64_t norm, aclTensor* out) {
  const Operand in = plan.input(self, "self"), given = plan.output(out, "out");
  plan.require_dtype(in, "self", domains::single_double);
  plan.require_dtype(given, "out", domains::single_double | domains::complex);
  if (mt::real_type(given.dtype) != in.dtype) plan.invalid("tensor 'out' is ", mt::info(given.dtype).name);
  if (in.ndim == 0 || plan.dim(dim, in) != in.ndim - 1)
    plan.invalid("dim is ", dim, ", wanted -1 of a signal");
  if (n < 1) plan.invalid("n is ", n, ", wanted at least 1");
  if (norm < 1 || norm > 3) plan.invalid("norm is ", norm, ", wanted 1 (none), 2 (1/n) or 3 (1/sqrt(n))");
  const int last = in.ndim - 1;
  std::vector<int64_t> sizes(in.sizes, in.sizes + in.ndim);
  sizes[size_t(last)] = n / 2 + 1;
  const Operand to = complex_result(plan, given, sizes);
  const double scale = norm == 1 ? 1.0 : norm == 2 ? 1.0 / double(n) : 1.0 / std::sqrt(double(n));
  plan.run([=](const aclOpExecutor& e) {
    int64_t shape[kMaxDims];
    std::copy(in.sizes, in.sizes + in.ndim, shape);
    shape[last] = n;
    const Temporary signal(shape, in.ndim, in.dtype);  // cut, or filled up with zeros
    k::fill(signal.view(), 0);
    shape[last] = std::min(n, in.sizes[last]);
    const Operand part = sliced(in, last, 0, shape[last]);
    k::copy(part.view(e), {signal.view().data, shape, signal.view().strides, in.ndim, in.dtype});
    k::real_fft(signal.view(), to.view(e), last, scale);
  });
}

// Frames of nFft samples, hopLength apart, times a window (in their middle, if it is shorter): out[.., frequency, frame].
void aclStft(Plan& plan, const aclTensor* self, const aclTensor* windowOptional, aclTensor* out, int64_t nFft,
             int64_t hopLength, int64_t winLength, bool normalized, bool onesided, bool returnComplex) {
  const Operand signal = plan.input(self, "self");
  const std::optional<Operand> window = plan.optional_input(windowOptional, "windowOptional");
  const Operand given = plan.output(out, "out");
  plan.require_dtype(signal, "self", domains::single_double);
  if (signal.ndim != 1 && signal.ndim != 2)
    plan.invalid("tensor 'self' has shape ", shape_text(signal), ", wanted [L] or [B, L]");
  const int last = signal.ndim - 1;
  const int64_t length = signal.sizes[last];
  if (nFft < 1 || nFft > length || hopLength < 1 || winLength < 1 || winLength > nFft)
    plan.invalid("nFft is ", nFft, ", hopLength ", hopLength, " and winLength ", winLength, " for ", length,
                 " samples");
  if (window) {
    plan.require_same_dtype(*window, "windowOptional", signal, "self");
    plan.require_shape(*window, "windowOptional", {winLength});
  }
  if (returnComplex != mt::is_complex(given.dtype))
    plan.invalid("returnComplex is ", returnComplex, " but tensor 'out' is ", mt::info(given.dtype).name);
  const int64_t frames = (length - nFft) / hopLength + 1, count = onesided ? nFft / 2 + 1 : nFft;
  std::vector<int64_t> sizes(signal.sizes, signal.sizes + last);
  sizes.insert(sizes.end(), {count, frames});
  const Operand to = complex_result(plan, given, sizes);
  if (mt::real_type(to.dtype) != signal.dtype) plan.invalid("tensor 'out' is ", mt::info(given.dtype).name);
  Operand windows = with_dim(plan, signal, signal.ndim, nFft, signal.strides[last]);
  windows.sizes[last] = frames;
  windows.strides[last] *= hopLength;
  const double scale = normalized ? 1.0 / std::sqrt(double(nFft)) : 1.0;
  plan.run([=](const aclOpExecutor& e) {
    const View from = windows.view(e);
    const Temporary work(from, signal.dtype);
    k::copy(from, work.view());
    const Temporary weights({nFft}, signal.dtype);
    const int64_t one = 1, start = (nFft - winLength) / 2;
    k::fill(weights.view(), 0);
    const View middle{weights.view().as<char>() + start * item_bytes(signal), &winLength, &one, 1,
                      signal.dtype};
    if (window) k::copy(window->view(e), middle);
    else k::fill(middle, 1);
    k::binary<k::mul_op>(work.view(), weights.view(), work.view(), signal.dtype);
    const Operand turned = swapped(to, to.ndim - 1, to.ndim - 2);  // [.., frame, frequency]
    if (onesided) k::real_fft(work.view(), turned.view(e), turned.ndim - 1, scale);
    else k::fft(work.view(), turned.view(e), turned.ndim - 1, true, scale);
  });
}

}  // namespace softnpu::ops
