#include "kernels/cumulative/cumulative.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "kernels/common/arithmetic.h"
#include "kernels/common/convert.h"
#include "kernels/common/iterate.h"
#include "kernels/common/parallel.h"

namespace mt::kernels {
namespace {

constexpr int64_t kBlock = 256;         // elements of a line held at a time
constexpr int kTogether = 2;            // lines walked along at a time
constexpr int64_t kColumns = 64;        // neighbouring lines taken together when that is the order of memory
constexpr int64_t kPlainColumns = 512;  // the same where nothing is converted

inline double log_add_exp(double a, double b) {
  if (a == b && std::isinf(a)) return a;
  const double top = a > b || std::isnan(a) ? a : b, low = a > b || std::isnan(a) ? b : a;
  return top + std::log1p(std::exp(low - top));
}
inline complex128 log_add_exp(complex128 a, complex128 b) {
  const double top = std::max(a.real(), b.real());
  if (std::isinf(top) && top < 0) return a;  // both are log 0
  if (std::isinf(top)) return a.real() > b.real() ? a : b;
  return top + std::log(std::exp(a - top) + std::exp(b - top));
}

template <class A, Running kOperation>
[[gnu::always_inline]] inline A step(A total, A x) {
  if constexpr (kOperation == Running::sum) return math::add(total, x);
  else if constexpr (kOperation == Running::product) return math::mul(total, x);
  else if constexpr (std::is_integral_v<A>) return total;  // refused before
  else return log_add_exp(total, x);
}
template <class A, Running kOperation>
A start() {
  if constexpr (kOperation == Running::product) return A(1);
  else if constexpr (kOperation == Running::sum || std::is_integral_v<A>) return A(0);
  else return A(-std::numeric_limits<double>::infinity());
}

struct Job {
  int64_t size, out_stride, in_stride;  // along the line, in bytes; negative when it runs backwards
  Converter load, store;
  std::optional<DType> plain;  // what both sides hold, if it is the same
};

// Some lines from begin to end, side by side: each step of a line waits for the one before it, but not for those of the
// other lines.
template <class A, Running kOperation, int kLines>
void along_lines(const Job& job, char* out, int64_t out_step, const char* in, int64_t in_step) {
  A blocks[kLines][kBlock], totals[kLines];
  std::fill_n(totals, kLines, start<A, kOperation>());
  for (int64_t begin = 0; begin < job.size; begin += kBlock) {
    const int64_t count = std::min(kBlock, job.size - begin);
    for (int l = 0; l < kLines; ++l)
      job.load(in + l * in_step + begin * job.in_stride, job.in_stride, reinterpret_cast<char*>(blocks[l]),
               sizeof(A), count);
    for (int64_t i = 0; i < count; ++i)
      for (int l = 0; l < kLines; ++l)
        blocks[l][i] = totals[l] = step<A, kOperation>(totals[l], blocks[l][i]);
    for (int l = 0; l < kLines; ++l)
      job.store(reinterpret_cast<const char*>(blocks[l]), sizeof(A),
                out + l * out_step + begin * job.out_stride, job.out_stride, count);
  }
}

// The same without conversions on the way: E is what both sides hold.
template <class A, class E, Running kOperation, int kLines>
void along_plain_lines(const Job& job, char* out, int64_t out_step, const char* in, int64_t in_step) {
  A totals[kLines];
  std::fill_n(totals, kLines, start<A, kOperation>());
  // Short lines end before the processor sees how they go on: the next ones are asked for.
  if (kLines > 1 && job.in_stride == int64_t(sizeof(E)) && in_step == job.size * job.in_stride &&
      job.size <= kBlock) {
    for (int64_t at = 0; at < kLines * in_step; at += 64) {
      __builtin_prefetch(in + kLines * in_step + at);
      __builtin_prefetch(out + kLines * out_step + at, 1);
    }
  }
  for (int64_t i = 0; i < job.size; ++i)
#pragma GCC unroll 8
    for (int l = 0; l < kLines; ++l) {
      totals[l] = step<A, kOperation>(totals[l],
                                      A(*reinterpret_cast<const E*>(in + l * in_step + i * job.in_stride)));
      *reinterpret_cast<E*>(out + l * out_step + i * job.out_stride) = E(totals[l]);
    }
}

template <class A, Running kOperation, int kLines>
void along_lines_of(const Job& job, char* out, int64_t out_step, const char* in, int64_t in_step) {
  if constexpr (kOperation != Running::log_sum_exp) {
    if (job.plain == dtype_of<A>)
      return along_plain_lines<A, A, kOperation, kLines>(job, out, out_step, in, in_step);
    if constexpr (std::is_same_v<A, double>)
      if (job.plain == DType::float32)
        return along_plain_lines<A, float, kOperation, kLines>(job, out, out_step, in, in_step);
  }
  along_lines<A, kOperation, kLines>(job, out, out_step, in, in_step);
}

// Neighbouring lines, one step of each at a time.
template <class A, Running kOperation>
void across_lines(const Job& job, char* out, int64_t out_step, const char* in, int64_t in_step,
                  int64_t lines) {
  A block[kColumns], totals[kColumns];
  char* buffer = reinterpret_cast<char*>(block);
  for (int64_t begin = 0; begin < lines; begin += kColumns) {
    const int64_t count = std::min(kColumns, lines - begin);
    std::fill_n(totals, count, start<A, kOperation>());
    for (int64_t k = 0; k < job.size; ++k) {
      job.load(in + begin * in_step + k * job.in_stride, in_step, buffer, sizeof(A), count);
      for (int64_t i = 0; i < count; ++i) totals[i] = step<A, kOperation>(totals[i], block[i]);
      job.store(reinterpret_cast<const char*>(totals), sizeof(A), out + begin * out_step + k * job.out_stride,
                out_step, count);
    }
  }
}

// The same without conversions, of lines that lie beside each other: a result is the one before it and an element.
template <class A, Running kOperation>
void across_plain_lines(const Job& job, char* out, const char* in, int64_t lines) {
  for (int64_t begin = 0; begin < lines; begin += kPlainColumns) {
    const int64_t count = std::min(kPlainColumns, lines - begin);
    A totals[kPlainColumns];
    std::fill_n(totals, count, start<A, kOperation>());
    for (int64_t k = 0; k < job.size; ++k) {
      const A* from = reinterpret_cast<const A*>(in + k * job.in_stride) + begin;
      A* to = reinterpret_cast<A*>(out + k * job.out_stride) + begin;
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) to[i] = totals[i] = step<A, kOperation>(totals[i], from[i]);
    }
  }
}

constexpr int64_t kShort = 16;  // lines of so few elements are worth less than a call for each
constexpr int64_t kFew = 16;    // so are neighbours that are so few

// Short lines that lie one behind the other, so that many are loaded and stored at once.
template <class A, Running kOperation>
void along_chain(const Job& job, char* out, const char* in, int64_t lines) {
  A block[kBlock];
  const int64_t together = kBlock / job.size;
  for (int64_t line = 0; line < lines; line += together) {
    const int64_t count = std::min(together, lines - line) * job.size, first = line * job.size;
    job.load(in + first * job.in_stride, job.in_stride, reinterpret_cast<char*>(block), sizeof(A), count);
    for (int64_t at = 0; at < count; at += job.size) {
      A total = start<A, kOperation>();
      for (int64_t i = at; i < at + job.size; ++i) block[i] = total = step<A, kOperation>(total, block[i]);
    }
    job.store(reinterpret_cast<const char*>(block), sizeof(A), out + first * job.out_stride, job.out_stride,
              count);
  }
}

// Operands of the plan: out, in; its rows are neighbouring lines.
template <class A, Running kOperation>
void take_lines(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Job& job = *static_cast<const Job*>(context);
  if (job.size <= kShort && strides[1] == job.size * job.in_stride && strides[0] == job.size * job.out_stride)
    return along_chain<A, kOperation>(job, data[0], data[1], n);
  const bool neighbours = n >= kFew && std::llabs(strides[1]) < std::llabs(job.in_stride);
  if (neighbours || (n > 1 && job.size <= kShort)) {
    constexpr int64_t item = sizeof(A);
    if (kOperation != Running::log_sum_exp && job.plain == dtype_of<A> && strides[0] == item &&
        strides[1] == item)
      return across_plain_lines<A, kOperation>(job, data[0], data[1], n);
    return across_lines<A, kOperation>(job, data[0], strides[0], data[1], strides[1], n);
  }
  int64_t line = 0;
  // Where nothing is converted a step waits for memory, which is faster one line after the other than several at once.
  if (job.plain != dtype_of<A>)
    for (; line + kTogether <= n; line += kTogether)
      along_lines_of<A, kOperation, kTogether>(job, data[0] + line * strides[0], strides[0],
                                               data[1] + line * strides[1], strides[1]);
  for (; line < n; ++line)
    along_lines_of<A, kOperation, 1>(job, data[0] + line * strides[0], 0, data[1] + line * strides[1], 0);
}

template <class A>
RowFunction rows_for(Running operation) {
  switch (operation) {
    case Running::sum: return take_lines<A, Running::sum>;
    case Running::product: return take_lines<A, Running::product>;
    default: return take_lines<A, Running::log_sum_exp>;
  }
}

// A view without one dimension, starting at the line's first element in the order it is walked.
struct WithoutDim {
  int64_t sizes[kMaxDims], strides[kMaxDims];
  View view;
  WithoutDim(const View& from, int dim, bool reverse) {
    int count = 0;
    for (int d = 0; d < from.ndim; ++d) {
      if (d == dim) continue;
      sizes[count] = from.sizes[d];
      strides[count++] = from.strides[d];
    }
    char* data = from.as<char>();
    if (reverse && from.ndim)
      data += (from.sizes[dim] - 1) * from.strides[dim] * int64_t(itemsize(from.dtype));
    view = {data, sizes, strides, count, from.dtype};
  }
};

}  // namespace

void cumulative(Running operation, const View& in, const View& out, int dim, bool reverse) {
  MT_CHECK(same_shape(in, out) && in.ndim <= kMaxDims, "cumulative: the result must have the input's shape");
  if (in.numel() == 0) return;
  const DType compute = is_complex(out.dtype)    ? DType::complex128
                        : is_floating(out.dtype) ? DType::float64
                                                 : DType::int64;
  if (operation == Running::log_sum_exp && compute == DType::int64)
    fail_unsupported("logcumsumexp_out_cpu", in.dtype);
  const WithoutDim in_lines(in, dim, reverse), out_lines(out, dim, reverse);
  Plan plan;
  const View* operands[] = {&out_lines.view, &in_lines.view};
  make_plan(plan, operands, 2);
  const int64_t direction = reverse ? -1 : 1;
  const auto stride = [&](const View& v) {
    return v.ndim ? direction * v.strides[dim] * int64_t(itemsize(v.dtype)) : int64_t(itemsize(v.dtype));
  };
  const Job job{in.ndim ? in.sizes[dim] : 1,
                stride(out),
                stride(in),
                converter(in.dtype, compute),
                converter(compute, out.dtype),
                in.dtype == out.dtype ? std::optional(in.dtype) : std::nullopt};
  const RowFunction rows = compute == DType::int64     ? rows_for<int64_t>(operation)
                           : compute == DType::float64 ? rows_for<double>(operation)
                                                       : rows_for<complex128>(operation);
  for_each_row(plan, std::max<int64_t>(1, kGrain / job.size), rows, &job);
}

}  // namespace mt::kernels
