#include "kernels/statistics/moments.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "kernels/common/convert.h"
#include "kernels/common/iterate.h"
#include "kernels/common/parallel.h"
#include "kernels/reduce/reduce_impl.h"

namespace mt::kernels {
namespace {

constexpr int64_t kBlock = 256;  // elements (or results) handled together, on the stack
constexpr int64_t kFew = 8;

// What is known of some elements; two of them merge exactly as if their elements had been seen together.
struct Moments {
  double count = 0, mean = 0, squares = 0;

  void merge(const Moments& other) {
    if (other.count == 0) return;
    const double total = count + other.count, gap = other.mean - mean, share = other.count / total;
    mean += gap * share;
    squares += other.squares + gap * gap * count * share;
    count = total;
  }
};

struct Job {
  Plan kept;     // operands: in, variance, mean
  Plan reduced;  // operand: in
  bool along_rows;
  Converter load, store_variance, store_mean;
  double correction;
  bool root, with_mean;
};

struct RowState {
  const Job& job;
  Moments* moments;
  int64_t columns, column_stride;
};

Moments of_block(const double* x, int64_t n) {
  Moments m;
  m.count = double(n);
  double total = 0;
  detail::ReduceLoopsOf<sum_op, double>::rows(reinterpret_cast<const char*>(x), 0, 1, n, &total);
  m.mean = total / m.count;
  double deviations[kBlock];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) deviations[i] = (x[i] - m.mean) * (x[i] - m.mean);
  detail::ReduceLoopsOf<sum_op, double>::rows(reinterpret_cast<const char*>(deviations), 0, 1, n, &m.squares);
  return m;
}

void take_row(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const RowState& state = *static_cast<const RowState*>(context);
  double block[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    state.job.load(data[0] + begin * strides[0], strides[0], reinterpret_cast<char*>(block), sizeof(double),
                   count);
    state.moments->merge(of_block(block, count));
  }
}

// Lines of neighbouring results: each line is one more element for every one of them.
void take_lines(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const RowState& state = *static_cast<const RowState*>(context);
  double line[kBlock];
  for (int64_t i = 0; i < n; ++i) {
    state.job.load(data[0] + i * strides[0], state.column_stride, reinterpret_cast<char*>(line),
                   sizeof(double), state.columns);
    const double count = state.moments[0].count + 1, share = 1 / count;
    for (int64_t c = 0; c < state.columns; ++c) {
      Moments& m = state.moments[c];
      const double gap = line[c] - m.mean;
      m.mean += gap * share;
      m.squares += gap * (line[c] - m.mean);
      m.count = count;
    }
  }
}

// Takes the elements [begin, end) of the reduced dimensions for `results` neighbours, `stride` bytes apart.
void accumulate(const Job& job, Plan& reduced, char* base, int64_t stride, int64_t results, int64_t begin,
                int64_t end, Moments* moments) {
  if (!job.along_rows) {
    for (int64_t c = 0; c < results; c += kBlock) {
      reduced.data[0] = base + c * stride;
      const RowState state{job, moments + c, std::min(kBlock, results - c), stride};
      for_each_row_in(reduced, begin, end, take_lines, &state);
    }
    return;
  }
  for (int64_t i = 0; i < results; ++i) {
    reduced.data[0] = base + i * stride;
    const RowState state{job, moments + i, 0, 0};
    for_each_row_in(reduced, begin, end, take_row, &state);
  }
}

void store(const Job& job, const Moments* moments, int64_t n, char* variance, int64_t variance_stride,
           char* mean, int64_t mean_stride) {
  double values[kBlock], means[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    for (int64_t i = 0; i < count; ++i) {
      const Moments& m = moments[begin + i];
      const double value = m.squares / std::max(0.0, m.count - job.correction);
      values[i] = job.root ? std::sqrt(value) : value;
      means[i] = m.count == 0 ? std::nan("") : m.mean;
    }
    job.store_variance(reinterpret_cast<const char*>(values), sizeof(double),
                       variance + begin * variance_stride, variance_stride, count);
    if (job.with_mean)
      job.store_mean(reinterpret_cast<const char*>(means), sizeof(double), mean + begin * mean_stride,
                     mean_stride, count);
  }
}

struct RangeState {
  const Job& job;
  Plan& reduced;
  int64_t begin, end;
  Moments* moments;
  mutable int64_t position;
};

void whole_results(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const RangeState& state = *static_cast<const RangeState*>(context);
  Moments moments[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    std::fill_n(moments, count, Moments());
    accumulate(state.job, state.reduced, data[0] + begin * strides[0], strides[0], count, state.begin,
               state.end, moments);
    store(state.job, moments, count, data[1] + begin * strides[1], strides[1], data[2] + begin * strides[2],
          strides[2]);
  }
}
void piece_of_results(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const RangeState& state = *static_cast<const RangeState*>(context);
  accumulate(state.job, state.reduced, data[0], strides[0], n, state.begin, state.end,
             state.moments + state.position);
  state.position += n;
}
void store_results(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const RangeState& state = *static_cast<const RangeState*>(context);
  store(state.job, state.moments + state.position, n, data[1], strides[1], data[2], strides[2]);
  state.position += n;
}

// Few results over many elements: pieces whose number depends on sizes only, merged in order.
void run_in_pieces(const Job& job, int64_t pieces) {
  const int64_t results = job.kept.numel, length = job.reduced.numel;
  std::vector<Moments> moments(size_t(pieces * results));
  const int64_t step = (length + pieces - 1) / pieces;
  parallel_for(0, pieces, 1, [&](int64_t first, int64_t last) {
    Plan reduced = job.reduced;
    for (int64_t piece = first; piece < last; ++piece) {
      const int64_t begin = std::min(piece * step, length), end = std::min(begin + step, length);
      const RangeState state{job, reduced, begin, end, moments.data() + piece * results, 0};
      for_each_row_in(job.kept, 0, results, piece_of_results, &state);
    }
  });
  for (int64_t piece = 1; piece < pieces; ++piece) {
    for (int64_t i = 0; i < results; ++i) moments[size_t(i)].merge(moments[size_t(piece * results + i)]);
  }
  Plan unused{};
  const RangeState state{job, unused, 0, 0, moments.data(), 0};
  for_each_row_in(job.kept, 0, results, store_results, &state);
}

struct DimsOf {
  int64_t sizes[kMaxDims], strides[kMaxDims];
  int count = 0;
  void add(int64_t size, int64_t stride) { sizes[count] = size, strides[count++] = stride; }
  View over(const View& view) const { return {view.data, sizes, strides, count, view.dtype}; }
};

}  // namespace

void moments(const View& in, const View& variance, const View* mean, double correction, bool root) {
  MT_CHECK(in.ndim == variance.ndim && in.ndim <= kMaxDims, "var: the result must keep the input's ", in.ndim,
           " dimensions (size 1 where reduced), got ", variance.ndim);
  const View& second = mean ? *mean : variance;
  DimsOf kept_in, kept_variance, kept_mean, reduced;
  for (int d = 0; d < in.ndim; ++d) {
    if (variance.sizes[d] == in.sizes[d]) {
      kept_in.add(in.sizes[d], in.strides[d]);
      kept_variance.add(in.sizes[d], variance.strides[d]);
      kept_mean.add(in.sizes[d], second.strides[d]);
    } else {
      reduced.add(in.sizes[d], in.strides[d]);
    }
  }
  Job job;
  const View in_kept = kept_in.over(in), out = kept_variance.over(variance), center = kept_mean.over(second);
  const View in_reduced = reduced.over(in);
  const View* kept_views[] = {&in_kept, &out, &center};
  const View* reduced_views[] = {&in_reduced};
  make_plan(job.kept, kept_views, 3);
  make_plan(job.reduced, reduced_views, 1);
  if (job.kept.numel == 0) return;
  const int64_t results = job.kept.numel, length = job.reduced.numel;
  // Few neighbours, such as the parts of complex numbers, are not worth a line for each of their elements.
  const bool few = job.kept.sizes[0] < kFew && length >= kBlock;
  job.along_rows =
      few || results == 1 || std::llabs(job.reduced.strides[0][0]) <= std::llabs(job.kept.strides[0][0]);
  job.load = converter(in.dtype, DType::float64);
  job.store_variance = converter(DType::float64, variance.dtype);
  job.store_mean = converter(DType::float64, second.dtype);
  job.correction = correction;
  job.root = root;
  job.with_mean = mean != nullptr;
  if (results <= kBlock && results * length >= 2 * kGrain && length >= 16)
    return run_in_pieces(
        job, std::max<int64_t>(1, std::min<int64_t>({results * length / kGrain, length / 8, 64})));
  parallel_for(0, results, std::max<int64_t>(1, kGrain / std::max<int64_t>(length, 1)),
               [&](int64_t begin, int64_t end) {
                 Plan own = job.reduced;
                 const RangeState state{job, own, 0, length, nullptr, 0};
                 for_each_row_in(job.kept, begin, end, whole_results, &state);
               });
}

}  // namespace mt::kernels
