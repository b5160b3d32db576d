#include "kernels/shape/triangle.h"

#include <algorithm>

#include "kernels/common/parallel.h"
#include "kernels/common/types.h"

namespace mt::kernels {

void triangle(const View& in, const View& out, int64_t diagonal, bool lower) {
  const int n = out.ndim;
  const int64_t rows = out.sizes[n - 2], columns = out.sizes[n - 1];
  const int64_t total = out.numel() / std::max<int64_t>(columns, 1);
  if (out.numel() == 0) return;
  diagonal = std::clamp(diagonal, -rows - 1, columns + 1);
  const int64_t from_step = in.strides[n - 1], to_step = out.strides[n - 1];
  dispatch<domains::every>(out.dtype, lower ? "tril" : "triu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(0, total, std::max<int64_t>(1, kGrain / columns), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* from = in.as<T>();
        T* to = out.as<T>();
        int64_t rest = i;
        for (int d = n - 2; d >= 0; --d) {
          const int64_t at = rest % out.sizes[d];
          rest /= out.sizes[d];
          from += at * in.strides[d];
          to += at * out.strides[d];
        }
        const int64_t row = i % rows;
        // Columns [first, last) are kept.
        const int64_t first = lower ? 0 : std::clamp<int64_t>(row + diagonal, 0, columns);
        const int64_t last = lower ? std::clamp<int64_t>(row + diagonal + 1, 0, columns) : columns;
        for (int64_t c = 0; c < first; ++c) to[c * to_step] = T(0);
        if (from != to)
          for (int64_t c = first; c < last; ++c) to[c * to_step] = from[c * from_step];
        for (int64_t c = last; c < columns; ++c) to[c * to_step] = T(0);
      }
    });
  });
}

}  // namespace mt::kernels
