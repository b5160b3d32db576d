#include "kernels/creation/creation.h"

#include <algorithm>

#include "kernels/common/parallel.h"
#include "kernels/common/types.h"

namespace mt::kernels {

void linspace(const View& out, const Scalar& start, const Scalar& end) {
  MT_CHECK(out.ndim == 1, "linspace: the result must have one dimension, got ", out.ndim);
  const int64_t steps = out.sizes[0], stride = out.strides[0];
  dispatch<domains::numeric>(out.dtype, "linspace_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    // Integers: the ends are whole numbers of the dtype, what lies between them is cut off.
    using C = std::conditional_t<std::is_integral_v<T>, double, compute_t<T>>;
    const C first = cast<C>(start.to<T>()), last = cast<C>(end.to<T>());
    // Half types round after every operation, as in PyTorch; for the others this changes nothing.
    const auto rounded = [](C value) {
      if constexpr (is_half_v<T>) return C(T(value));
      else return value;
    };
    const auto place = [&](int64_t i) { return rounded(C(double(i))); };
    const C step = steps > 1 ? rounded(rounded(last - first) / place(steps - 1)) : C(0);
    const int64_t half = steps / 2;
    T* data = out.as<T>();
    // From both ends towards the middle, so that both are exact.
    parallel_for(0, steps, kGrain, [&](int64_t begin, int64_t stop) {
      for (int64_t i = begin; i < stop; ++i) {
        const bool early = i < half || steps == 1;
        data[i * stride] =
            cast<T>(early ? first + rounded(step * place(i)) : last - rounded(step * place(steps - 1 - i)));
      }
    });
  });
}

void triangle_indices(const View& out, int64_t row, int64_t col, int64_t offset, bool upper) {
  constexpr DTypeSet indices = dtype_set(DType::int64, DType::int32);
  dispatch<indices>(out.dtype, "tril_indices", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T *rows = out.as<T>(), *columns = rows + out.strides[0];
    int64_t at = 0;
    for (int64_t r = 0; r < row && at < out.sizes[1]; ++r) {
      const __int128 diagonal = __int128(r) + offset;
      const int64_t begin = upper ? int64_t(std::clamp<__int128>(diagonal, 0, col)) : 0;
      const int64_t end = upper ? col : int64_t(std::clamp<__int128>(diagonal + 1, 0, col));
      for (int64_t c = begin; c < end && at < out.sizes[1]; ++c, ++at) {
        rows[at * out.strides[1]] = T(r);
        columns[at * out.strides[1]] = T(c);
      }
    }
  });
}

}  // namespace mt::kernels
