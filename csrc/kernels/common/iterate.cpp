#include "kernels/common/iterate.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "kernels/common/parallel.h"

namespace mt::kernels {
namespace {

// Adds every operand's strides for the kept dimensions, innermost first.
void align(Plan& plan, const View* const* operands) {
  const View& shape = *operands[0];
  MT_CHECK(shape.ndim <= kMaxDims, "tensors with more than ", kMaxDims, " dimensions are not supported, got ",
           shape.ndim);
  for (int o = 1; o < plan.operands; ++o) {
    const View& view = *operands[o];
    for (int i = 0; i < view.ndim - shape.ndim; ++i) {
      MT_CHECK(view.sizes[i] == 1, "operand with ", view.ndim,
               " dimensions cannot be broadcast to a result with ", shape.ndim);
    }
  }
  plan.ndim = 0;
  plan.numel = 1;
  for (int back = 1; back <= shape.ndim; ++back) {
    const int64_t size = shape.sizes[shape.ndim - back];
    plan.numel = int64_t(uint64_t(plan.numel) * uint64_t(size));  // sizes beside a zero may be of any size
    const bool keep = size != 1;
    if (keep) plan.sizes[plan.ndim] = size;
    for (int o = 0; o < plan.operands; ++o) {
      const View& view = *operands[o];
      const int d = view.ndim - back;
      int64_t stride = 0;
      if (d >= 0 && view.sizes[d] != 1) {
        MT_CHECK(view.sizes[d] == size, "operand of size ", view.sizes[d], " cannot be broadcast to size ",
                 size, " at dimension ", shape.ndim - back, " of the result");
        stride = int64_t(uint64_t(view.strides[d]) * itemsize(view.dtype));
      }
      if (keep) plan.strides[o][plan.ndim] = stride;
    }
    plan.ndim += keep;
  }
}

// Whether dimension a should lie further inside than b. The first operand that has an opinion decides, and a
// stride of 0 (broadcast) is no opinion, so that results are written in order even when an input is expanded.
bool further_inside(const Plan& plan, int a, int b) {
  for (int o = 0; o < plan.operands; ++o) {
    const int64_t x = std::llabs(plan.strides[o][a]), y = std::llabs(plan.strides[o][b]);
    if (x == 0 || y == 0 || x == y) continue;
    return x < y;
  }
  return false;
}

void swap_dims(Plan& plan, int a, int b) {
  std::swap(plan.sizes[a], plan.sizes[b]);
  for (int o = 0; o < plan.operands; ++o) std::swap(plan.strides[o][a], plan.strides[o][b]);
}

void sort_and_merge(Plan& plan) {
  // Insertion sort: few dimensions, and nearly always in order already.
  for (int i = 1; i < plan.ndim; ++i) {
    for (int j = i; j > 0 && further_inside(plan, j, j - 1); --j) swap_dims(plan, j, j - 1);
  }
  int last = 0;
  for (int i = 1; i < plan.ndim; ++i) {
    bool joins = true;
    for (int o = 0; o < plan.operands; ++o) {
      joins = joins && plan.strides[o][last] * plan.sizes[last] == plan.strides[o][i];
    }
    if (joins) {
      plan.sizes[last] *= plan.sizes[i];
    } else {
      ++last;
      plan.sizes[last] = plan.sizes[i];
      for (int o = 0; o < plan.operands; ++o) plan.strides[o][last] = plan.strides[o][i];
    }
  }
  plan.ndim = last + 1;
}

}  // namespace

void make_plan(Plan& plan, const View* const* operands, int count) {
  plan.operands = count;
  align(plan, operands);
  for (int o = 0; o < count; ++o) plan.data[o] = operands[o]->as<char>();
  if (plan.ndim == 0) {  // a single element: one row of length 1
    plan.ndim = 1;
    plan.sizes[0] = 1;
    for (int o = 0; o < count; ++o) plan.strides[o][0] = 0;
    return;
  }
  if (plan.numel != 0) sort_and_merge(plan);
}

Plan without_innermost(const Plan& plan) {
  Plan outer;
  outer.operands = plan.operands;
  outer.ndim = plan.ndim - 1;
  outer.numel = plan.numel / plan.sizes[0];
  std::copy_n(plan.sizes + 1, outer.ndim, outer.sizes);
  for (int o = 0; o < plan.operands; ++o) {
    outer.data[o] = plan.data[o];
    std::copy_n(plan.strides[o] + 1, outer.ndim, outer.strides[o]);
  }
  return outer;
}

void for_each_row_in(const Plan& plan, int64_t begin, int64_t end, RowFunction row, const void* context) {
  if (begin >= end) return;
  const int operands = plan.operands;
  char* data[kMaxOperands];
  int64_t strides[kMaxOperands];
  int64_t index[kMaxDims];
  for (int o = 0; o < operands; ++o) data[o] = plan.data[o], strides[o] = plan.strides[o][0];
  std::fill_n(index, plan.ndim, 0);
  int64_t rest = begin;
  for (int d = 0; d < plan.ndim && rest > 0; ++d) {
    index[d] = rest % plan.sizes[d];
    rest /= plan.sizes[d];
    for (int o = 0; o < operands; ++o) data[o] += index[d] * plan.strides[o][d];
  }
  // On to the next place along dimension d.
  const auto advance = [&](int d) {
    for (; d < plan.ndim; ++d) {
      for (int o = 0; o < operands; ++o) data[o] += plan.strides[o][d];
      if (++index[d] < plan.sizes[d]) return;
      for (int o = 0; o < operands; ++o) data[o] -= plan.strides[o][d] * plan.sizes[d];
      index[d] = 0;
    }
  };
  const int64_t width = plan.sizes[0], first = std::min(width - index[0], end - begin);
  row(data, strides, first, context);
  int64_t left = end - begin - first;
  if (left == 0) return;
  for (int o = 0; o < operands; ++o) data[o] -= index[0] * strides[o];
  for (advance(1); left > 0; advance(2)) {
    // Rows are counted in a register: Neoverse N1 writes large tensors three times as fast if a row's memory is all that is
    // written between one row and the next, but for the pointers.
    const int64_t rows = std::min(plan.sizes[1] - index[1], left / width);
    for (int64_t i = 0; i < rows; ++i) {
      row(data, strides, width, context);
      for (int o = 0; o < operands; ++o) data[o] += plan.strides[o][1];
    }
    left -= rows * width;
    if (left > 0 && index[1] + rows < plan.sizes[1]) return row(data, strides, left, context);
    for (int o = 0; o < operands; ++o) data[o] -= plan.strides[o][1] * plan.sizes[1];
    index[1] = 0;
  }
}

namespace {

void over_threads(const Plan& plan, int64_t grain, RowFunction row, const void* context) {
  if (plan.numel <= grain) {
    for_each_row_in(plan, 0, plan.numel, row, context);
    return;
  }
  parallel_for(0, plan.numel, grain,
               [&](int64_t begin, int64_t end) { for_each_row_in(plan, begin, end, row, context); });
}

// Note [Narrow rows]
// Points of three coordinates, or boxes of four: a row of so few elements takes less time than a call for it. Where many
// of them follow each other, the calls are for columns instead, of a band of rows that stays in the cache.
constexpr int64_t kNarrow = 8, kMany = 32, kBand = 512;

bool has_narrow_rows(const Plan& plan) {
  return plan.ndim > 1 && plan.ndim < kMaxDims && plan.sizes[0] <= kNarrow && plan.sizes[1] >= kMany;
}

// The plan of `bands` bands of `rows` rows each, the first of which begins at row `from`.
Plan turned(const Plan& plan, int64_t from, int64_t rows, int64_t bands) {
  Plan to;
  to.operands = plan.operands;
  to.ndim = plan.ndim + 1;
  to.numel = plan.numel / plan.sizes[1] * rows * bands;
  to.sizes[0] = rows, to.sizes[1] = plan.sizes[0], to.sizes[2] = bands;
  for (int d = 2; d < plan.ndim; ++d) to.sizes[d + 1] = plan.sizes[d];
  for (int o = 0; o < plan.operands; ++o) {
    const int64_t* strides = plan.strides[o];
    to.data[o] = plan.data[o] + from * strides[1];
    to.strides[o][0] = strides[1], to.strides[o][1] = strides[0], to.strides[o][2] = rows * strides[1];
    for (int d = 2; d < plan.ndim; ++d) to.strides[o][d + 1] = strides[d];
  }
  return to;
}

template <class F>
void by_bands(const Plan& plan, F&& f) {
  if (!has_narrow_rows(plan)) return f(plan);
  const int64_t bands = plan.sizes[1] / kBand, done = bands * kBand, rest = plan.sizes[1] - done;
  if (bands) f(turned(plan, 0, kBand, bands));
  if (rest) f(turned(plan, done, rest, 1));
}

}  // namespace

void for_each_row(const Plan& plan, int64_t grain, RowFunction row, const void* context) {
  by_bands(plan, [&](const Plan& each) { over_threads(each, grain, row, context); });
}

void for_each_row_here(const Plan& plan, RowFunction row, const void* context) {
  by_bands(plan, [&](const Plan& each) { for_each_row_in(each, 0, each.numel, row, context); });
}

}  // namespace mt::kernels
