#include "kernels/sort/unique.h"

#include <algorithm>
#include <numeric>

#include "kernels/common/types.h"
#include "kernels/sort/sort.h"

namespace mt::kernels {

RowGroups group_rows(const View& rows, bool consecutive) {
  const int64_t n = rows.sizes[0], width = rows.sizes[1];
  std::vector<int64_t> order(size_t(n), 0);
  std::iota(order.begin(), order.end(), int64_t(0));
  const int64_t one = 1;
  if (!consecutive && width == 1) {
    std::vector<char> memory(size_t(n) * itemsize(rows.dtype) + 1);
    const View line{rows.data, rows.sizes, &one, 1, rows.dtype};
    const View values{memory.data(), rows.sizes, &one, 1, rows.dtype};
    if (n > 0) sort(line, 0, false, values, {order.data(), rows.sizes, &one, 1, DType::int64});
  } else if (!consecutive) {
    row_order(rows, {order.data(), rows.sizes, &one, 1, DType::int64});
  }
  RowGroups groups;
  groups.inverse.resize(size_t(n));
  dispatch<domains::every>(rows.dtype, "unique", [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto same = [&](int64_t a, int64_t b) {
      const T *left = rows.as<T>() + a * width, *right = rows.as<T>() + b * width;
      bool equal = true;
      for (int64_t j = 0; j < width; ++j) equal &= compute_t<T>(left[j]) == compute_t<T>(right[j]);
      return equal;
    };
    // Where groups begin. Nobody can foretell it, so there is no branch: what is written is kept if a group does.
    std::vector<int64_t> starts(size_t(n) + 1);
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = order[size_t(i)];
      starts[size_t(count)] = i;
      count += same(order[size_t(std::max<int64_t>(i - 1, 0))], row) & (i > 0) ? 0 : 1;
      groups.inverse[size_t(row)] = count - 1;
    }
    starts[size_t(count)] = n;
    groups.first.resize(size_t(count)), groups.counts.resize(size_t(count));
    for (size_t g = 0; g < size_t(count); ++g) {
      groups.first[g] = order[size_t(starts[g])];
      groups.counts[g] = starts[g + 1] - starts[g];
    }
  });
  return groups;
}

}  // namespace mt::kernels
