#include "kernels/dropout/dropout.h"

#include <algorithm>

#include "kernels/common/dense.h"
#include "kernels/common/parallel.h"
#include "kernels/common/rows.h"
#include "kernels/random/random.h"

namespace mt::kernels {

void dropout_bits(const View& bits, int64_t count, double drop, uint64_t seed) {
  const Temporary kept({count}, DType::boolean);
  philox_bernoulli(kept.view(), 1 - drop, seed, 0);
  const bool* keep = kept.view().as<bool>();
  const int64_t bytes = bits.numel();
  uint8_t* to = bits.as<uint8_t>();
  parallel_for(0, bytes, kGrain / 8, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      unsigned value = 0;
      for (int64_t b = 8 * i; b < std::min(8 * i + 8, count); ++b) value |= unsigned(keep[b]) << (b & 7);
      to[i] = uint8_t(value);
    }
  });
}

void dropout_by_bits(const View& in, const View& bits, double drop, const View& out) {
  with_compute_type(in.dtype, "dropout", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> x(in);
    const DenseInput<uint8_t> mask(bits);
    const DenseOutput<C> y(out);
    const C factor = drop < 1 ? C(1 / (1 - drop)) : C(0);
    parallel_for(0, x.numel(), kGrain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i)
        y[i] = drop == 0 || (mask[i >> 3] >> (i & 7)) & 1 ? x[i] * factor : C(0);
    });
    y.store();
  });
}

}  // namespace mt::kernels
