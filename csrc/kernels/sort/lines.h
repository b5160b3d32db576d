// Loops over the lines of a tensor along one dimension, with the matching lines of one or two results.
#pragma once

#include <algorithm>

#include "kernels/common/parallel.h"
#include "kernels/common/without_dim.h"

namespace mt::kernels {

// From this length on, one line is worth several threads.
inline constexpr int64_t kSplitFrom = 1 << 15;

// How many threads work inside a line of n elements.
inline int64_t threads_inside(int64_t n) {
  if (n < kSplitFrom || in_parallel_region()) return 1;
  return std::min<int64_t>(get_num_threads(), n / (kSplitFrom / 2));
}

namespace detail {

// Calls f(data, strides, n) with n lines of each, which start strides apart.
template <class F>
void for_each_run(const View& in, const View& first, const View& second, int dim, bool inside, const F& f) {
  const WithoutDim a(in, dim), b(first, dim), c(second, dim);
  const View* operands[] = {&a.view, &b.view, &c.view};
  Plan plan;
  make_plan(plan, operands, 3);
  if (plan.numel == 0) return;
  const RowFunction row = [](char* const* data, const int64_t* strides, int64_t n, const void* context) {
    (*static_cast<const F*>(context))(data, strides, n);
  };
  if (inside && plan.numel < threads_inside(in.sizes[dim]))
    return for_each_row_in(plan, 0, plan.numel, row, &f);
  for_each_row(plan, std::max<int64_t>(1, kGrain / 8 / std::max<int64_t>(1, in.sizes[dim])), row, &f);
}

template <class F>
void for_each_line(const View& in, const View& first, const View& second, int dim, bool inside, const F& f) {
  for_each_run(in, first, second, dim, inside, [&](char* const* data, const int64_t* strides, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      f(data[0] + i * strides[0], data[1] + i * strides[1], data[2] + i * strides[2]);
  });
}

}  // namespace detail

// Calls f(line of in, line of first, line of second) for all lines along `dim`; several threads do, if the lines
// together have work enough. The views agree in their other dimensions.
template <class F>
void for_each_line(const View& in, const View& first, const View& second, int dim, const F& f) {
  detail::for_each_line(in, first, second, dim, false, f);
}
// The same for an f that shares out a long line itself: few of them come one after the other.
template <class F>
void for_each_split_line(const View& in, const View& first, const View& second, int dim, const F& f) {
  detail::for_each_line(in, first, second, dim, true, f);
}

}  // namespace mt::kernels
