#include "kernels/reduce/reduce.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "kernels/common/convert.h"
#include "kernels/common/iterate.h"
#include "kernels/common/parallel.h"
#include "kernels/elementwise/compute_dtype.h"
#include "kernels/reduce/reduce_impl.h"

namespace mt::kernels {
namespace {

constexpr int64_t kBlock = 512;    // outputs handled together
constexpr int64_t kStaged = 4096;  // bytes of a row that are converted at a time
constexpr int64_t kFew = 256;      // results that may be too few for all threads
constexpr int64_t kShort = 64;     // lines of so few results are worth less than a call for each
constexpr int64_t kRow = 256;
constexpr int64_t kMaxAccumulator = 16;

// A view of some of another view's dimensions.
struct Dims {
  int64_t sizes[kMaxDims], strides[kMaxDims];
  int count = 0;
  void add(int64_t size, int64_t stride) {
    sizes[count] = size;
    strides[count++] = stride;
  }
  View over(const View& view) const { return {view.data, sizes, strides, count, view.dtype}; }
};

struct Reduction {
  const ReduceLoops* loops;
  DType compute;
  Plan kept;        // operands: in, out
  Plan reduced;     // operand: in
  bool along_rows;  // the innermost dimension in memory is reduced
  Converter load;   // in's dtype to the compute dtype (a gather if they are the same)
  bool converts;
  ReduceLoops::Rows half_rows = nullptr;  // of in's dtype; null where it is converted
  ReduceLoops::Columns half_columns = nullptr;
  int64_t in_item, compute_item, accumulator_item;
  Converter store;  // accumulator to the result's dtype

  bool is_direct(int64_t stride, int64_t n) const { return !converts && (stride == in_item || n == 1); }
};

// Results beside each other, whose elements start `stride` bytes apart.
struct Group {
  const Reduction& job;
  char* accumulators;
  int64_t outputs, stride;
};

// Takes a run of reduced elements of each result, into one accumulator each.
void take_rows(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Group& group = *static_cast<const Group*>(context);
  const Reduction& job = group.job;
  const auto rows = job.loops->rows[cpu_level];
  if (job.is_direct(strides[0], n)) return rows(data[0], group.stride, group.outputs, n, group.accumulators);
  if (job.half_rows && strides[0] == job.in_item)
    return job.half_rows(data[0], group.stride, group.outputs, n, group.accumulators);
  alignas(64) char block[kStaged];
  const int64_t together = kStaged / job.compute_item;
  if (2 * n <= together) {  // short rows are brought together, all at once where one follows the other
    const int64_t row_bytes = n * job.compute_item;
    const bool follow = group.stride == n * strides[0];
    for (int64_t i = 0; i < group.outputs; i += together / n) {
      const int64_t count = std::min(together / n, group.outputs - i), pieces = follow ? 1 : count;
      for (int64_t r = 0; r < pieces; ++r)
        job.load(data[0] + (i + r) * group.stride, strides[0], block + r * row_bytes, job.compute_item,
                 count / pieces * n);
      rows(block, row_bytes, count, n, group.accumulators + i * job.accumulator_item);
    }
    return;
  }
  for (int64_t i = 0; i < group.outputs; ++i) {
    const char* row = data[0] + i * group.stride;
    for (int64_t begin = 0; begin < n; begin += together) {
      const int64_t count = std::min(together, n - begin);
      job.load(row + begin * strides[0], strides[0], block, job.compute_item, count);
      rows(block, 0, 1, count, group.accumulators + i * job.accumulator_item);
    }
  }
}

void take_lines(char* const* data, const int64_t* strides, int64_t n, const void* context);

// Short lines that follow each other without a gap are one long line, into accumulators of its own.
void take_short_lines(char* data, int64_t stride, int64_t n, const Group& group) {
  const Reduction& job = group.job;
  const int64_t together = kBlock / group.outputs, long_lines = n / together, long_stride = together * stride;
  alignas(64) char accumulators[kBlock * kMaxAccumulator];
  job.loops->identity(accumulators, together * group.outputs);
  const Group whole{job, accumulators, together * group.outputs, group.stride};
  take_lines(&data, &long_stride, long_lines, &whole);
  for (int64_t l = 0; l < together; ++l)
    job.loops->merge(group.accumulators, accumulators + l * group.outputs * job.accumulator_item,
                     group.outputs);
  char* rest = data + long_lines * long_stride;
  take_lines(&rest, &stride, n - long_lines * together, &group);
}

// Takes n lines, line by line, with an element of each result.
void take_lines(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Group& group = *static_cast<const Group*>(context);
  const Reduction& job = group.job;
  const bool follow = group.stride == job.in_item && strides[0] == group.outputs * job.in_item;
  if (follow && group.outputs <= kShort && n * group.outputs >= 2 * kBlock)
    return take_short_lines(data[0], strides[0], n, group);
  const auto columns = job.loops->columns[cpu_level];
  if (job.is_direct(group.stride, group.outputs))
    return columns(data[0], strides[0], n, group.outputs, group.accumulators);
  if (job.half_columns && group.stride == job.in_item)
    return job.half_columns(data[0], strides[0], n, group.outputs, group.accumulators);
  constexpr int64_t together = 8;  // as many as a loop over columns takes at once
  alignas(64) char block[together * kBlock * 16];
  const int64_t line = group.outputs * job.compute_item;
  for (int64_t i = 0; i < n; i += together) {
    const int64_t lines = std::min(together, n - i);
    for (int64_t l = 0; l < lines; ++l)
      job.load(data[0] + (i + l) * strides[0], group.stride, block + l * line, job.compute_item,
               group.outputs);
    columns(block, line, lines, group.outputs, group.accumulators);
  }
}

// Reduces the elements [begin, end) of the reduced dimensions for `outputs` results whose inputs start
// `stride` bytes apart: all of them together, unless the rest of a result's elements is nearer than the next result.
void accumulate(const Reduction& job, Plan& reduced, char* base, int64_t stride, int64_t outputs,
                int64_t begin, int64_t end, char* accumulators) {
  const bool apart =
      job.along_rows && reduced.ndim > 1 && std::llabs(reduced.strides[0][1]) < std::llabs(stride);
  const int64_t step = apart ? 1 : outputs;
  for (int64_t i = 0; i < outputs; i += step) {
    reduced.data[0] = base + i * stride;
    const Group group{job, accumulators + i * job.accumulator_item, step, stride};
    for_each_row_in(reduced, begin, end, job.along_rows ? take_rows : take_lines, &group);
  }
}

void finish_and_store(const Reduction& job, char* accumulators, int64_t n, char* out, int64_t out_stride) {
  job.loops->finish(accumulators, n, job.reduced.numel);
  job.store(accumulators, job.accumulator_item, out, out_stride, n);
}

// Results are independent: each range of them is reduced completely.
struct WholeState {
  const Reduction& job;
  Plan& reduced;
};
void whole_results(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const WholeState& state = *static_cast<const WholeState*>(context);
  const Reduction& job = state.job;
  alignas(64) char accumulators[kBlock * kMaxAccumulator];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    job.loops->identity(accumulators, count);
    accumulate(job, state.reduced, data[0] + begin * strides[0], strides[0], count, 0, job.reduced.numel,
               accumulators);
    finish_and_store(job, accumulators, count, data[1] + begin * strides[1], strides[1]);
  }
}

// Few results over many elements: the reduced range is cut in pieces (how many depends on sizes only, so
// results do not depend on the number of threads), each with its own accumulators, merged in order.
struct PieceState {
  const Reduction& job;
  Plan& reduced;
  int64_t begin, end;
  char* mutable_accumulators;
  mutable int64_t position;
};
void piece_of_results(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const PieceState& state = *static_cast<const PieceState*>(context);
  char* accumulators = state.mutable_accumulators + state.position * state.job.accumulator_item;
  accumulate(state.job, state.reduced, data[0], strides[0], n, state.begin, state.end, accumulators);
  state.position += n;
}
void store_results(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const PieceState& state = *static_cast<const PieceState*>(context);
  char* accumulators = state.mutable_accumulators + state.position * state.job.accumulator_item;
  finish_and_store(state.job, accumulators, n, data[1], strides[1]);
  state.position += n;
}

void run_in_pieces(const Reduction& job, int64_t pieces) {
  const int64_t outputs = job.kept.numel, length = job.reduced.numel;
  const int64_t piece_bytes = outputs * job.accumulator_item;
  // vector<complex128> gives memory aligned for every accumulator.
  std::vector<complex128> memory(size_t(pieces * (piece_bytes + 15) / 16 + 1));
  char* accumulators = reinterpret_cast<char*>(memory.data());
  job.loops->identity(accumulators, pieces * outputs);
  const int64_t step = (length + pieces - 1) / pieces;
  parallel_for(0, pieces, 1, [&](int64_t first, int64_t last) {
    Plan reduced = job.reduced;
    for (int64_t piece = first; piece < last; ++piece) {
      const int64_t begin = std::min(piece * step, length), end = std::min(begin + step, length);
      const PieceState state{job, reduced, begin, end, accumulators + piece * piece_bytes, 0};
      for_each_row_in(job.kept, 0, outputs, piece_of_results, &state);
    }
  });
  for (int64_t piece = 1; piece < pieces; ++piece) {
    job.loops->merge(accumulators, accumulators + piece * piece_bytes, outputs);
  }
  Plan unused{};
  const PieceState state{job, unused, 0, 0, accumulators, 0};
  for_each_row_in(job.kept, 0, outputs, store_results, &state);
}

DType compute_type(const ReduceKernel& kernel, const View& in, const View& out) {
  const DType compute = reduce_compute_dtype(kernel.domain, in.dtype, out.dtype);
  if (!contains(kernel.domain, compute)) [[unlikely]]
    fail_unsupported(kernel.name, in.dtype);
  return compute == DType::float16 || compute == DType::bfloat16 ? DType::float32 : compute;
}

[[gnu::noinline]] void run_general(const ReduceKernel& kernel, const ReduceLoops* loops, DType compute,
                                   const View& in, const View& out) {
  MT_CHECK(in.ndim == out.ndim && in.ndim <= kMaxDims, "reduction: the result must keep the input's ",
           in.ndim, " dimensions (size 1 where reduced), got ", out.ndim);
  Dims kept_in, kept_out, reduced;
  for (int d = 0; d < in.ndim; ++d) {
    if (out.sizes[d] == in.sizes[d]) {
      kept_in.add(in.sizes[d], in.strides[d]);
      kept_out.add(out.sizes[d], out.strides[d]);
    } else {
      MT_CHECK(out.sizes[d] == 1, "reduction: dimension ", d, " of the result must have size 1 or ",
               in.sizes[d], ", got ", out.sizes[d]);
      reduced.add(in.sizes[d], in.strides[d]);
    }
  }
  Reduction job;
  job.loops = loops;
  job.compute = compute;
  const View in_kept = kept_in.over(in), out_kept = kept_out.over(out), in_reduced = reduced.over(in);
  const View* kept_views[] = {&in_kept, &out_kept};
  const View* reduced_views[] = {&in_reduced};
  make_plan(job.kept, kept_views, 2);
  make_plan(job.reduced, reduced_views, 1);
  if (job.kept.numel == 0) return;
  MT_CHECK_AS(
      index, job.reduced.numel > 0 || kernel.empty_allowed,
      "reduction over no elements has no identity for this operation; reduce a dimension that is not empty");
  job.along_rows =
      job.kept.numel == 1 || std::llabs(job.reduced.strides[0][0]) <= std::llabs(job.kept.strides[0][0]);
  if (job.reduced.numel == 1) job.along_rows = false;  // nothing to reduce: treat results as columns
  job.converts = compute != in.dtype;
  const bool is_half = in.dtype == DType::float16 || in.dtype == DType::bfloat16;
  job.load = converter(in.dtype, compute);
  // A result in double is to have its digits.
  if (is_half && compute == DType::float32 && out.dtype != DType::float64 && cpu_level > 0) {
    job.half_rows = loops->half_rows[in.dtype == DType::bfloat16];
    job.half_columns = loops->half_columns[in.dtype == DType::bfloat16];
  }
  job.in_item = int64_t(itemsize(in.dtype));
  job.compute_item = int64_t(itemsize(compute));
  job.accumulator_item = int64_t(itemsize(job.loops->accumulator));
  job.store = converter(job.loops->accumulator, out.dtype);

  const int64_t outputs = job.kept.numel, length = job.reduced.numel;
  if (outputs <= kFew && outputs * length >= 2 * kGrain && length >= 16) {
    const int64_t pieces = std::min<int64_t>({outputs * length / kGrain, length / 8, 64});
    return run_in_pieces(job, std::max<int64_t>(pieces, 1));
  }
  // A row takes as long to begin and to end as so many elements more.
  const int64_t row = length + (job.along_rows ? kRow : 0);
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(row, 1));
  const auto range = [&](int64_t begin, int64_t end) {
    Plan own = job.reduced;
    const WholeState state{job, own};
    for_each_row_in(job.kept, begin, end, whole_results, &state);
  };
  parallel_for(0, outputs, grain, range);
}

}  // namespace

[[gnu::hot]] void run_reduce(const ReduceKernel& kernel, const View& in, const View& out) {
  const DType compute = compute_type(kernel, in, out);
  const ReduceLoops* loops = kernel.loops[int(compute)];
  // Small dense input, one result: nothing to plan.
  int64_t numel;
  if (compute == in.dtype && is_dense(in, numel) && numel > 0 && numel < kGrain && out.ndim == in.ndim &&
      out.numel() == 1) {
    alignas(16) char accumulator[kMaxAccumulator];
    loops->identity(accumulator, 1);
    loops->rows[cpu_level](in.as<char>(), 0, 1, numel, accumulator);
    loops->finish(accumulator, 1, numel);
    return converter(loops->accumulator, out.dtype)(accumulator, 0, out.as<char>(), 0, 1);
  }
  run_general(kernel, loops, compute, in, out);
}

}  // namespace mt::kernels
