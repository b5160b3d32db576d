#include "kernels/sort/unique.h"

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
      for (int64_t j = 0; j < width; ++j)
        if (compute_t<T>(left[j]) != compute_t<T>(right[j])) return false;
      return true;
    };
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = order[size_t(i)];
      if (i == 0 || !same(order[size_t(i - 1)], row)) {
        groups.first.push_back(row);
        groups.counts.push_back(0);
      }
      ++groups.counts.back();
      groups.inverse[size_t(row)] = int64_t(groups.counts.size()) - 1;
    }
  });
  return groups;
}

}  // namespace mt::kernels
