#include "kernels/random/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/common/parallel.h"
#include "kernels/common/types.h"

namespace mt::kernels {

void keep_likeliest(const View& in, const View* k, const View* p, const View& out) {
  const int64_t rows = in.sizes[0], size = in.sizes[1];
  constexpr float kGone = -std::numeric_limits<float>::infinity();
  parallel_for(0, size == 0 ? 0 : rows, 1, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> order(static_cast<size_t>(size));
    for (int64_t row = begin; row < end; ++row) {
      const float* logits = in.as<float>() + row * size;
      float* kept = out.as<float>() + row * size;
      std::iota(order.begin(), order.end(), int64_t(0));
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t a, int64_t b) { return logits[a] < logits[b]; });
      std::vector<float> sorted(static_cast<size_t>(size));
      for (size_t i = 0; i < sorted.size(); ++i) sorted[i] = logits[order[i]];
      if (k != nullptr) {
        const int64_t wanted = std::clamp<int64_t>(k->as<int32_t>()[row], 1, size);
        const float smallest = sorted[size_t(size - wanted)];
        for (float& value : sorted) value = value < smallest ? kGone : value;
      }
      if (p != nullptr) {
        double total = 0, sum = 0;
        for (float value : sorted) total += std::exp(double(value) - sorted.back());
        const double beyond = 1.0 - double(p->as<float>()[row]);
        for (size_t i = 0; i + 1 < sorted.size(); ++i) {  // the likeliest always stays
          sum += std::exp(double(sorted[i]) - sorted.back()) / total;
          if (sum > beyond) break;
          sorted[i] = kGone;
        }
      }
      for (size_t i = 0; i < sorted.size(); ++i) kept[order[i]] = sorted[i];
    }
  });
}

}  // namespace mt::kernels
