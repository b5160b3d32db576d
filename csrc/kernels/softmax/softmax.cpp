#include "kernels/softmax/softmax.h"

#include <algorithm>

#include "kernels/common/arithmetic.h"
#include "kernels/common/convert.h"
#include "kernels/common/cpu_features.h"
#include "kernels/common/iterate.h"
#include "kernels/common/parallel.h"
#include "kernels/common/rows.h"
#include "kernels/common/types.h"

namespace mt::kernels {
namespace {

constexpr int64_t kBlock = 512;  // terms of a sum made at a time: they stay in the first-level cache

// Sum of term(i) for i < n; the terms go through a block so that making them and adding them up both
// vectorise.
template <class C, class Term>
[[gnu::always_inline]] inline C row_sum(int64_t n, Term term) {
  double total = 0;
  C block[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) block[i] = term(begin + i);
    total += sum_of<C>(count, [&](int64_t i) { return block[i]; });
  }
  return C(total);
}

// The largest number of a row. NaN is passed over: its exponential makes every result of the row NaN anyway.
template <class C>
[[gnu::always_inline]] inline C row_top(const C* x, int64_t n) {
  constexpr int kLanes = 256 / sizeof(C);
  C top = -std::numeric_limits<C>::infinity();
  int64_t i = 0;
  if (n >= kLanes) {
    C lanes[kLanes];
    for (int l = 0; l < kLanes; ++l) lanes[l] = top;
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
    }
    for (int l = 0; l < kLanes; ++l) top = lanes[l] > top ? lanes[l] : top;
  }
  for (; i < n; ++i) top = x[i] > top ? x[i] : top;
  return top;
}

// exp(x) for x <= 0, without the ends of the range: what would be subnormal is 0.

template <class C>
struct Rows {
  // x and y may be the same memory.
  [[gnu::always_inline]] static inline void forward_body(const C* x, C* y, int64_t n, bool log) {
    const C top = row_top(x, n);
    if (log) {
      // The maximum goes first: adding it to the shift would drop the shift's digits when the maximum is
      // large.
      const C shift = math::log(row_sum<C>(n, [=](int64_t i) { return math::exp_below(x[i] - top); }));
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - top) - shift;
      return;
    }
    double total = 0;
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t count = std::min(kBlock, n - begin);
      const C* from = x + begin;
      C* to = y + begin;
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) to[i] = math::exp_below(from[i] - top);
      total += sum_of<C>(count, [=](int64_t i) { return to[i]; });
    }
    const C scale = C(1 / total);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] *= scale;
  }
  [[gnu::always_inline]] static inline void backward_body(const C* grad, const C* out, C* result, int64_t n,
                                                          bool log) {
    if (log) {
      const C total = row_sum<C>(n, [=](int64_t i) { return grad[i]; });
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) result[i] = grad[i] - math::exp(out[i]) * total;
    } else {
      const C total = row_sum<C>(n, [=](int64_t i) { return grad[i] * out[i]; });
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) result[i] = (grad[i] - total) * out[i];
    }
  }
  static void forward(const C* x, C* y, int64_t n, bool log) { forward_body(x, y, n, log); }
  MT_WIDE static void forward_wide(const C* x, C* y, int64_t n, bool log) { forward_body(x, y, n, log); }
  MT_WIDEST static void forward_widest(const C* x, C* y, int64_t n, bool log) { forward_body(x, y, n, log); }
  static void backward(const C* g, const C* o, C* r, int64_t n, bool log) { backward_body(g, o, r, n, log); }
  MT_WIDE static void backward_wide(const C* g, const C* o, C* r, int64_t n, bool log) {
    backward_body(g, o, r, n, log);
  }
  MT_WIDEST static void backward_widest(const C* g, const C* o, C* r, int64_t n, bool log) {
    backward_body(g, o, r, n, log);
  }
  static constexpr decltype(&forward) kForward[kLevels] = {forward, forward_wide, forward_widest};
  static constexpr decltype(&backward) kBackward[kLevels] = {backward, backward_wide, backward_widest};
};

// The lines along `dim` of up to three views of one shape, each walked with a plan over the other dimensions.
struct Lines {
  Plan plan;
  int64_t size;
  int64_t strides[3];  // along the line, in bytes
  int64_t sizes_left[kMaxDims], strides_left[3][kMaxDims];

  Lines(const View* const* views, int count, int dim, const char* name) {
    const View& first = *views[0];
    MT_CHECK(first.ndim <= kMaxDims && (first.ndim == 0 ? dim == 0 : dim >= 0 && dim < first.ndim), name,
             ": dim ", dim, " is out of range for ", first.ndim, " dimensions");
    size = first.ndim ? first.sizes[dim] : 1;
    View left[3];
    const View* operands[3];
    for (int v = 0; v < count; ++v) {
      const View& view = *views[v];
      MT_CHECK(same_shape(first, view), name, ": all tensors must have one shape");
      strides[v] =
          view.ndim ? view.strides[dim] * int64_t(itemsize(view.dtype)) : int64_t(itemsize(view.dtype));
      int kept = 0;
      for (int d = 0; d < view.ndim; ++d) {
        if (d == dim) continue;
        sizes_left[kept] = view.sizes[d];
        strides_left[v][kept++] = view.strides[d];
      }
      left[v] = {view.data, sizes_left, strides_left[v], kept, view.dtype};
      operands[v] = &left[v];
    }
    make_plan(plan, operands, count);
  }
};

// Brings a line into a dense buffer of C, unless it is one already.
template <class C>
const C* load(const char* data, int64_t stride, int64_t n, Converter convert, bool same, C* buffer) {
  if (same && (stride == int64_t(sizeof(C)) || n == 1)) return reinterpret_cast<const C*>(data);
  convert(data, stride, reinterpret_cast<char*>(buffer), sizeof(C), n);
  return buffer;
}

template <class C>
struct Job {
  const Lines& lines;
  DType dtypes[3];
  bool log;
};

template <class C>
void forward_rows(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Job<C>& job = *static_cast<const Job<C>*>(context);
  const int64_t size = job.lines.size;
  constexpr DType compute = dtype_of<C>;
  Scratch<C> in_buffer(size), out_buffer(size);
  const Converter in = converter(job.dtypes[1], compute), out = converter(compute, job.dtypes[0]);
  const bool direct = job.dtypes[0] == compute && (job.lines.strides[0] == int64_t(sizeof(C)) || size == 1);
  for (int64_t i = 0; i < n; ++i) {
    char* target = data[0] + i * strides[0];
    const C* x = load(data[1] + i * strides[1], job.lines.strides[1], size, in, job.dtypes[1] == compute,
                      in_buffer.data());
    C* y = direct ? reinterpret_cast<C*>(target) : out_buffer.data();
    Rows<C>::kForward[cpu_level](x, y, size, job.log);
    if (!direct) out(reinterpret_cast<const char*>(y), sizeof(C), target, job.lines.strides[0], size);
  }
}

template <class C>
void backward_rows(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Job<C>& job = *static_cast<const Job<C>*>(context);
  const int64_t size = job.lines.size;
  constexpr DType compute = dtype_of<C>;
  Scratch<C> grad_buffer(size), output_buffer(size), out_buffer(size);
  const Converter grad_in = converter(job.dtypes[1], compute), output_in = converter(job.dtypes[2], compute);
  const Converter out = converter(compute, job.dtypes[0]);
  const bool direct = job.dtypes[0] == compute && (job.lines.strides[0] == int64_t(sizeof(C)) || size == 1);
  for (int64_t i = 0; i < n; ++i) {
    char* target = data[0] + i * strides[0];
    const C* grad = load(data[1] + i * strides[1], job.lines.strides[1], size, grad_in,
                         job.dtypes[1] == compute, grad_buffer.data());
    const C* output = load(data[2] + i * strides[2], job.lines.strides[2], size, output_in,
                           job.dtypes[2] == compute, output_buffer.data());
    C* y = direct ? reinterpret_cast<C*>(target) : out_buffer.data();
    Rows<C>::kBackward[cpu_level](grad, output, y, size, job.log);
    if (!direct) out(reinterpret_cast<const char*>(y), sizeof(C), target, job.lines.strides[0], size);
  }
}

template <class C>
void run(const View* const* views, int count, int dim, bool log, const char* name, RowFunction rows) {
  const Lines lines(views, count, dim, name);
  if (lines.plan.numel == 0 || lines.size == 0) return;
  Job<C> job{lines, {}, log};
  for (int v = 0; v < count; ++v) job.dtypes[v] = views[v]->dtype;
  for_each_row(lines.plan, std::max<int64_t>(1, kGrain / 4 / lines.size), rows, &job);
}

}  // namespace

void softmax(const View& in, const View& out, int dim, bool log) {
  const View* views[] = {&out, &in};
  const char* name = log ? "log_softmax" : "softmax";
  if (!contains(domains::floating, in.dtype) && !contains(domains::floating, out.dtype))
    fail_unsupported(name, in.dtype);
  if (!contains(domains::floating, out.dtype)) fail_unsupported(name, out.dtype);
  if (in.dtype == DType::float64 || out.dtype == DType::float64)
    run<double>(views, 2, dim, log, name, forward_rows<double>);
  else run<float>(views, 2, dim, log, name, forward_rows<float>);
}

void softmax_backward(const View& grad, const View& output, const View& grad_in, int dim, bool log) {
  const View* views[] = {&grad_in, &grad, &output};
  const char* name = log ? "log_softmax_backward" : "softmax_backward";
  for (const View* view : views) {
    if (!contains(domains::floating, view->dtype)) fail_unsupported(name, view->dtype);
  }
  if (grad.dtype == DType::float64 || output.dtype == DType::float64)
    run<double>(views, 3, dim, log, name, backward_rows<double>);
  else run<float>(views, 3, dim, log, name, backward_rows<float>);
}

}  // namespace mt::kernels
