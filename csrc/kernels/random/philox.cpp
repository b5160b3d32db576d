// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"): ten rounds of multiplications
// turn a 128-bit counter and a 64-bit key into four random words. Element i of a fill depends on (seed,
// offset, i) only.
#include <cmath>
#include <memory>
#include <numbers>

#include "kernels/common/copy.h"
#include "kernels/common/iterate.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/random/random.h"

namespace mt::kernels {
namespace {

struct Words {
  uint32_t w[4];
  uint64_t pair(int i) const { return (uint64_t(w[2 * i]) << 32) | w[2 * i + 1]; }
};

Words philox(uint64_t key, uint64_t counter) {
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  uint32_t c0 = uint32_t(counter), c1 = uint32_t(counter >> 32), c2 = 0, c3 = 0;
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t(0xD2511F53u) * c0, b = uint64_t(0xCD9E8D57u) * c2;
    const uint32_t n0 = uint32_t(b >> 32) ^ c1 ^ k0, n2 = uint32_t(a >> 32) ^ c3 ^ k1;
    c0 = n0, c1 = uint32_t(b), c2 = n2, c3 = uint32_t(a);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

float unit_float(uint32_t bits) { return float(bits >> 8) * 0x1p-24f; }
double unit_double(uint64_t bits) { return double(bits >> 11) * 0x1p-53; }

// Elements come in pairs, so that Box-Muller uses both of its results: one block of four words gives two
// elements. Fills a dense view directly; any other through a dense copy.
template <class T, class MakePair>
void fill_pairs(const View& out, uint64_t seed, uint64_t offset, MakePair make) {
  int64_t numel;
  std::unique_ptr<T[]> memory;
  T* data = out.as<T>();
  const bool dense = is_dense(out, numel);
  if (!dense) {
    numel = out.numel();
    memory.reset(new T[size_t(numel) + 1]);
    data = memory.get();
  }
  parallel_for(0, (numel + 1) / 2, kGrain / 8, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      T first, second;
      make(philox(seed, offset + uint64_t(block)), first, second);
      data[2 * block] = first;
      if (2 * block + 1 < numel) data[2 * block + 1] = second;
    }
  });
  if (dense) return;
  MT_CHECK(out.ndim <= kMaxDims, "tensors with more than ", kMaxDims, " dimensions are not supported");
  int64_t strides[kMaxDims], expected = 1;
  for (int d = out.ndim - 1; d >= 0; --d) strides[d] = expected, expected *= out.sizes[d];
  copy({data, out.sizes, strides, out.ndim, out.dtype}, out);
}

}  // namespace

uint64_t philox_blocks(const View& out) { return uint64_t(out.numel() + 1) / 2; }

void philox_uniform(const View& out, double low, double high, uint64_t seed, uint64_t offset) {
  dispatch<domains::floating>(out.dtype, "uniform", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_pairs<T>(out, seed, offset, [&](const Words& words, T& first, T& second) {
      if constexpr (std::is_same_v<T, double>) {
        first = low + unit_double(words.pair(0)) * (high - low);
        second = low + unit_double(words.pair(1)) * (high - low);
      } else {
        // Rounding to a half type may reach `high`, which the range excludes.
        const auto place = [&](uint32_t bits) {
          const T value = cast<T>(float(low) + unit_float(bits) * float(high - low));
          return float(value) < float(high) || low == high ? value : cast<T>(float(low));
        };
        first = place(words.w[0]);
        second = place(words.w[2]);
      }
    });
  });
}

void philox_normal(const View& out, double mean, double deviation, uint64_t seed, uint64_t offset) {
  dispatch<domains::floating>(out.dtype, "normal", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_pairs<T>(out, seed, offset, [&](const Words& words, T& first, T& second) {
      const double radius = std::sqrt(-2.0 * std::log(1.0 - unit_double(words.pair(0))));
      const double angle = 2.0 * std::numbers::pi * unit_double(words.pair(1));
      using C = compute_t<T>;
      first = cast<T>(C(radius * std::cos(angle) * deviation + mean));
      second = cast<T>(C(radius * std::sin(angle) * deviation + mean));
    });
  });
}

void philox_bernoulli(const View& out, double probability, uint64_t seed, uint64_t offset) {
  MT_CHECK(probability >= 0 && probability <= 1,
           "bernoulli_ expects p to be in [0, 1], but got p=", probability);
  dispatch<domains::ordered>(out.dtype, "bernoulli", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_pairs<T>(out, seed, offset, [&](const Words& words, T& first, T& second) {
      first = cast<T>(float(unit_double(words.pair(0)) < probability));
      second = cast<T>(float(unit_double(words.pair(1)) < probability));
    });
  });
}

void philox_exponential(const View& out, double rate, uint64_t seed, uint64_t offset) {
  dispatch<domains::floating>(out.dtype, "exponential", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_pairs<T>(out, seed, offset, [&](const Words& words, T& first, T& second) {
      first = cast<T>(-std::log1p(-unit_double(words.pair(0))) / rate);
      second = cast<T>(-std::log1p(-unit_double(words.pair(1))) / rate);
    });
  });
}

void philox_random(const View& out, int64_t low, int64_t high, uint64_t seed, uint64_t offset) {
  MT_CHECK(low < high, "random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  const uint64_t range = uint64_t(high) - uint64_t(low);
  dispatch<domains::ordered>(out.dtype, "random", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_pairs<T>(out, seed, offset, [&](const Words& words, T& first, T& second) {
      first = cast<T>(int64_t(words.pair(0) % range + uint64_t(low)));
      second = cast<T>(int64_t(words.pair(1) % range + uint64_t(low)));
    });
  });
}

}  // namespace mt::kernels
