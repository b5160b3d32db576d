#include "kernels/softmax/softmax.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/common/arithmetic.h"
#include "kernels/common/convert.h"
#include "kernels/common/cpu_features.h"
#include "kernels/common/iterate.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/rows.h"
#include "kernels/common/squares.h"
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

// The largest number of a row. NaN is passed over: its exponential makes every result of the row NaN anyway. Lanes are
// folded in pairs: one after the other would take longer than a short row.
template <int kWidth, class C>
[[gnu::always_inline]] inline C largest_lane(C* lanes) {
  if constexpr (kWidth == 1) {
    return lanes[0];
  } else {
    constexpr int half = kWidth / 2;
    for (int l = 0; l < half; ++l) lanes[l] = lanes[l + half] > lanes[l] ? lanes[l + half] : lanes[l];
    return largest_lane<half>(lanes);
  }
}
template <class C>
[[gnu::always_inline]] inline C row_top(const C* x, int64_t n) {
  constexpr int kLanes = 128 / sizeof(C);
  C top = -std::numeric_limits<C>::infinity();
  int64_t i = 0;
  if (n >= kLanes) {
    C lanes[kLanes];
    for (int l = 0; l < kLanes; ++l) lanes[l] = top;
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
    }
    top = largest_lane<kLanes>(lanes);
  }
  for (; i < n; ++i) top = x[i] > top ? x[i] : top;
  return top;
}

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
      const C total = C(sum_of<C>(n, [=](int64_t i) { return grad[i]; }));
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) result[i] = grad[i] - math::exp(out[i]) * total;
    } else {
      const C total = C(sum_of<C>(n, [=](int64_t i) { return grad[i] * out[i]; }));
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) result[i] = (grad[i] - total) * out[i];
    }
  }
  [[gnu::always_inline]] static inline void log_sum_body(const C* x, C* y, int64_t n) {
    const C top = row_top(x, n);
    if (std::isinf(top)) *y = infinite_log_sum(x, n, top);
    else *y = math::log(row_sum<C>(n, [=](int64_t i) { return math::exp_below(x[i] - top); })) + top;
  }
  // Nothing can be taken out of the exponentials; NaN was passed over.
  static C infinite_log_sum(const C* x, int64_t n, C top) {
    const C* nan = std::find_if(x, x + n, [](C value) { return value != value; });
    return nan == x + n ? top : *nan;
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
  static void log_sum(const C* x, C* y, int64_t n) { log_sum_body(x, y, n); }
  MT_WIDE static void log_sum_wide(const C* x, C* y, int64_t n) { log_sum_body(x, y, n); }
  MT_WIDEST static void log_sum_widest(const C* x, C* y, int64_t n) { log_sum_body(x, y, n); }
  static constexpr decltype(&log_sum) kLogSum[kLevels] = {log_sum, log_sum_wide, log_sum_widest};
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

// Note [Lines side by side]
// Over a dimension that is not the last, the elements of a line lie far apart, but those of neighbouring lines side by
// side. Then a block of lines is taken together, one element of each at a time, so that memory is read in its order.
constexpr int64_t kSide = 512;  // lines taken together at most: long runs of memory
constexpr int64_t kFew = 64;    // and at least
constexpr int64_t kKept =
    65536;  // elements of a block of lines, so that they are still near when they are read again
constexpr int64_t kPartial = 32;  // terms added up in C before their sum goes into a double

struct TakeTops {
  template <class C>
  [[gnu::always_inline]] static inline void run(const C* x, C* top, int64_t n) {
    for (int64_t i = 0; i < n; ++i) top[i] = math::select(x[i] > top[i], x[i], top[i]);
  }
};
struct AddExponentials {
  template <class C>
  [[gnu::always_inline]] static inline void run(const C* x, const C* top, C* e, C* sum, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const C value = math::exp_below(x[i] - top[i]);
      e[i] = value;
      sum[i] += value;
    }
  }
};
struct Multiply {
  template <class C>
  [[gnu::always_inline]] static inline void run(const C* x, const C* factor, C* y, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor[i];
  }
};
struct Shift {
  template <class C>
  [[gnu::always_inline]] static inline void run(const C* x, const C* top, const C* shift, C* y, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - top[i]) - shift[i];
  }
};
template <bool kLog>
struct AddSlopes {
  template <class C>
  [[gnu::always_inline]] static inline void run(const C* grad, const C* out, C* sum, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) sum[i] += kLog ? grad[i] : grad[i] * out[i];
  }
};
template <bool kLog>
struct TakeSlopes {
  template <class C>
  [[gnu::always_inline]] static inline void run(const C* grad, const C* out, const C* total, C* y,
                                                int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i)
      y[i] = kLog ? grad[i] - math::exp(out[i]) * total[i] : (grad[i] - total[i]) * out[i];
  }
};

// An operand whose lines lie side by side, or `between` bytes apart.
template <class C>
struct Side {
  char* data;
  int64_t step, item;  // bytes from one element of a line to its next, and from one line to its neighbour
  Converter load, store;
  bool direct;
  Side(const Job<C>& job, int operand, char* first, int64_t between)
      : data(first),
        step(job.lines.strides[operand]),
        item(between),
        load(converter(job.dtypes[operand], dtype_of<C>)),
        store(converter(dtype_of<C>, job.dtypes[operand])),
        direct(job.dtypes[operand] == dtype_of<C> && between == int64_t(sizeof(C))) {}
  const C* read(int64_t element, int64_t n, C* buffer) const {
    char* at = data + element * step;
    if (direct) return reinterpret_cast<const C*>(at);
    load(at, item, reinterpret_cast<char*>(buffer), sizeof(C), n);
    return buffer;
  }
  C* target(int64_t element, C* buffer) const {
    return direct ? reinterpret_cast<C*>(data + element * step) : buffer;
  }
  void written(int64_t element, int64_t n, const C* buffer) const {
    if (!direct) store(reinterpret_cast<const char*>(buffer), sizeof(C), data + element * step, item, n);
  }
};

// Lines that lie across memory, side by side, are turned several at a time, so that each line of the cache is read once. A
// few elements of all of them come at a time, and there is a gap between them: steps of powers of two share places in a cache.
constexpr int64_t kTurned = 16, kElementsTurned = 8, kGap = 16;
struct Turn {
  template <class C>
  [[gnu::always_inline]] static inline void run(const C* from, int64_t step, int64_t lines, int64_t size,
                                                C* to) {
    for (int64_t k = 0; k < size; k += kElementsTurned)
      turn_rectangle(from + k * step, step, to + k, size + kGap, lines, std::min(kElementsTurned, size - k));
  }
};

// Whether the n lines of a row of the plan lie side by side in every operand.
template <class C>
bool side_by_side(const Job<C>& job, const int64_t* strides, int64_t n, int operands) {
  if (n < 4) return false;
  for (int v = 0; v < operands; ++v) {
    const int64_t item = int64_t(itemsize(job.dtypes[v]));
    if (strides[v] != item || job.lines.strides[v] == item) return false;
  }
  return true;
}

struct AddAndClear {
  template <class C>
  [[gnu::always_inline]] static inline void run(C* sums, double* totals, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      totals[i] += double(sums[i]);
      sums[i] = 0;
    }
  }
};
struct FinishTotals {
  template <class C>
  [[gnu::always_inline]] static inline void run(const double* totals, C* last, bool log, int64_t n) {
    for (int64_t i = 0; i < n; ++i) last[i] = C(totals[i]);
    if (log) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) last[i] = math::log(last[i]);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) last[i] = C(1 / totals[i]);
    }
  }
};
inline int64_t lines_together(int64_t size) { return std::clamp(kKept / size / 16 * 16, kFew, kSide); }

// The tops of n lines, and the sums of their exponentials without them; `target` says where those of element k go.
template <class C, class Target>
void sum_exponentials(const Side<C>& x, int64_t size, int64_t n, C* top, double* totals, Target target) {
  alignas(64) C sums[kSide] = {}, buffer[kSide];
  std::fill_n(top, n, -std::numeric_limits<C>::infinity());
  std::fill_n(totals, n, 0.0);
  for (int64_t k = 0; k < size; ++k) at_level<TakeTops>(x.read(k, n, buffer), top, n);
  for (int64_t k = 0; k < size; ++k) {
    at_level<AddExponentials>(x.read(k, n, buffer), static_cast<const C*>(top), target(k), &sums[0], n);
    if (k % kPartial == kPartial - 1 || k + 1 == size) at_level<AddAndClear>(&sums[0], totals, n);
  }
}

// Apart, so that lines that are read one by one do not pay for these buffers.
template <class C>
[[gnu::noinline]] void forward_sides(const Job<C>& job, const Side<C>& y, const Side<C>& x, int64_t n) {
  const int64_t size = job.lines.size;
  alignas(64) C top[kSide], sums[kSide] = {}, buffer[kSide], result[kSide];
  double totals[kSide];
  // Exponentials that can be kept are: in place, x is gone then, and needed no more.
  const bool keeps = !job.log && y.direct;
  sum_exponentials(x, size, n, top, totals, [&](int64_t k) { return keeps ? y.target(k, result) : result; });
  alignas(64) C last[kSide];
  at_level<FinishTotals>(static_cast<const double*>(totals), &last[0], job.log, n);
  for (int64_t k = 0; k < size; ++k) {
    C* to = y.target(k, result);
    if (job.log) {
      at_level<Shift>(x.read(k, n, buffer), static_cast<const C*>(top), static_cast<const C*>(last), to, n);
    } else {
      if (!keeps)
        at_level<AddExponentials>(x.read(k, n, buffer), static_cast<const C*>(top), to, &sums[0], n);
      at_level<Multiply>(static_cast<const C*>(to), static_cast<const C*>(last), to, n);
    }
    y.written(k, n, to);
  }
}

template <class C>
[[gnu::noinline]] void log_sum_sides(const Job<C>& job, const Side<C>& y, const Side<C>& x, int64_t n) {
  const int64_t size = job.lines.size;
  alignas(64) C top[kSide], last[kSide], buffer[kSide];
  double totals[kSide];
  sum_exponentials(x, size, n, top, totals, [&](int64_t) { return buffer; });
  at_level<FinishTotals>(static_cast<const double*>(totals), &last[0], true, n);
  for (int64_t i = 0; i < n; ++i) last[i] += top[i];
  if (std::any_of(top, top + n, [](C t) { return std::isinf(t); })) {  // as infinite_log_sum does it
    bool missing[kSide] = {};
    for (int64_t k = 0; k < size; ++k) {
      const C* line = x.read(k, n, buffer);
      for (int64_t i = 0; i < n; ++i) missing[i] |= line[i] != line[i];
    }
    for (int64_t i = 0; i < n; ++i)
      if (std::isinf(top[i])) last[i] = missing[i] ? std::numeric_limits<C>::quiet_NaN() : top[i];
  }
  y.store(reinterpret_cast<const char*>(last), sizeof(C), y.data, y.item, n);
}

template <class C, bool kLog>
[[gnu::noinline]] void backward_sides(const Job<C>& job, const Side<C>& y, const Side<C>& grad,
                                      const Side<C>& output, int64_t n) {
  const int64_t size = job.lines.size;
  alignas(64) C sums[kSide] = {}, total[kSide], slopes[kSide], values[kSide], result[kSide];
  double totals[kSide] = {};
  for (int64_t k = 0; k < size; ++k) {
    at_level<AddSlopes<kLog>>(grad.read(k, n, slopes), output.read(k, n, values), &sums[0], n);
    if (k % kPartial == kPartial - 1 || k + 1 == size) at_level<AddAndClear>(&sums[0], &totals[0], n);
  }
  for (int64_t i = 0; i < n; ++i) total[i] = C(totals[i]);
  for (int64_t k = 0; k < size; ++k) {
    C* to = y.target(k, result);
    at_level<TakeSlopes<kLog>>(grad.read(k, n, slopes), output.read(k, n, values),
                               static_cast<const C*>(total), to, n);
    y.written(k, n, to);
  }
}

template <class C>
void forward_rows(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Job<C>& job = *static_cast<const Job<C>*>(context);
  if (side_by_side(job, strides, n, 2)) {
    const int64_t together = lines_together(job.lines.size);
    for (int64_t i = 0; i < n; i += together)
      forward_sides(job, Side<C>(job, 0, data[0] + i * strides[0], strides[0]),
                    Side<C>(job, 1, data[1] + i * strides[1], strides[1]), std::min(together, n - i));
    return;
  }
  const int64_t size = job.lines.size;
  constexpr DType compute = dtype_of<C>;
  Scratch<C> in_buffer(size), out_buffer(size);
  const Converter in = converter(job.dtypes[1], compute), out = converter(compute, job.dtypes[0]);
  const bool direct = job.dtypes[0] == compute && (job.lines.strides[0] == int64_t(sizeof(C)) || size == 1);
  constexpr int64_t item = sizeof(C);
  const bool across = job.dtypes[1] == compute && strides[1] == item && n >= kTurned && size > 1 &&
                      job.lines.strides[1] >= n * item && job.lines.strides[1] % item == 0;
  Scratch<C> turned(across ? kTurned * (size + kGap) : 0);
  for (int64_t i = 0; i < n; ++i) {
    char* target = data[0] + i * strides[0];
    if (across && i % kTurned == 0)
      at_level<Turn>(reinterpret_cast<const C*>(data[1] + i * item), job.lines.strides[1] / item,
                     std::min(kTurned, n - i), size, turned.data());
    const C* x = across ? turned.data() + i % kTurned * (size + kGap)
                        : load(data[1] + i * strides[1], job.lines.strides[1], size, in,
                               job.dtypes[1] == compute, in_buffer.data());
    C* y = direct ? reinterpret_cast<C*>(target) : out_buffer.data();
    Rows<C>::kForward[cpu_level](x, y, size, job.log);
    if (!direct) out(reinterpret_cast<const char*>(y), sizeof(C), target, job.lines.strides[0], size);
  }
}

template <class C>
void log_sum_rows(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Job<C>& job = *static_cast<const Job<C>*>(context);
  constexpr int64_t few = 16;  // elements of a line, which are worth less than a call for each
  if (job.lines.size <= few || side_by_side(job, strides, n, 2)) {
    const int64_t together = lines_together(job.lines.size);
    for (int64_t i = 0; i < n; i += together)
      log_sum_sides(job, Side<C>(job, 0, data[0] + i * strides[0], strides[0]),
                    Side<C>(job, 1, data[1] + i * strides[1], strides[1]), std::min(together, n - i));
    return;
  }
  const int64_t size = job.lines.size;
  Scratch<C> buffer(size);
  const Converter in = converter(job.dtypes[1], dtype_of<C>), out = converter(dtype_of<C>, job.dtypes[0]);
  for (int64_t i = 0; i < n; ++i) {
    const C* x = load(data[1] + i * strides[1], job.lines.strides[1], size, in, job.dtypes[1] == dtype_of<C>,
                      buffer.data());
    C result;
    Rows<C>::kLogSum[cpu_level](x, &result, size);
    out(reinterpret_cast<const char*>(&result), sizeof(C), data[0] + i * strides[0], 0, 1);
  }
}

template <class C>
void backward_rows(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Job<C>& job = *static_cast<const Job<C>*>(context);
  if (side_by_side(job, strides, n, 3)) {
    const int64_t together = lines_together(job.lines.size);
    for (int64_t i = 0; i < n; i += together) {
      const auto side = [&](int v) { return Side<C>(job, v, data[v] + i * strides[v], strides[v]); };
      const auto take = job.log ? backward_sides<C, true> : backward_sides<C, false>;
      take(job, side(0), side(1), side(2), std::min(together, n - i));
    }
    return;
  }
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

void log_sum_exp_along(const View& in, const View& out, int dim) {
  // The result as if it had the whole line, all of it one element.
  std::vector<int64_t> strides(out.strides, out.strides + out.ndim);
  strides[size_t(dim)] = 0;
  const View line{out.data, in.sizes, strides.data(), in.ndim, out.dtype};
  const View* views[] = {&line, &in};
  if (!contains(domains::floating, out.dtype)) fail_unsupported("logsumexp", out.dtype);
  if (in.dtype == DType::float64 || out.dtype == DType::float64)
    run<double>(views, 2, dim, true, "logsumexp", log_sum_rows<double>);
  else run<float>(views, 2, dim, true, "logsumexp", log_sum_rows<float>);
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
