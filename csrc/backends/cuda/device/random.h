// Random numbers: Philox4x32-10, counted and shared out as PyTorch does on this kind of device, so that one seed gives the
// same numbers.
//
// Launch, for n elements: block 256, grid min(ceil(n / 256), processors * (threads of a processor / 256)): the numbers depend
// on it. A thread is a sequence of the generator; each turn takes four numbers of 32 bits (or two of 64), for elements that
// lie a grid's threads apart. The generator's offset grows by 4 * ceil(n / (256 * grid * k)), k numbers a turn: 4, or 2 for
// double, for integers of a range of 2^28 and more, and for random_() of int64 and double.
//   random_filled<T, what>(RandomCall): see Drawn.
//   chances_drawn<T>(ChancesCall): bernoulli of a tensor of chances. Block 512, a thread for 4 neighbours, offset + 12.
//   dropped<T>(DropoutCall): dropout of neighbours, four for each turn; launched like the above with k = 4 and count % 4 == 0,
//   dropped_apart<T>: of elements a grid apart, any count.
#pragma once

#include "backends/cuda/device/places.h"

namespace mt::cuda {

class Philox {
 public:
  Philox(uint64_t seed, uint64_t sequence, uint64_t offset)
      : key_{uint32_t(seed), uint32_t(seed >> 32)},
        counter_{uint32_t(offset / 4), uint32_t(offset / 4 >> 32), uint32_t(sequence),
                 uint32_t(sequence >> 32)} {}

  // The next four numbers.
  uint4 next() {
    uint32_t c0 = counter_[0], c1 = counter_[1], c2 = counter_[2], c3 = counter_[3], k0 = key_[0],
             k1 = key_[1];
#pragma unroll
    for (int round = 0; round < 10; ++round) {
      const uint32_t high0 = __umulhi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
      const uint32_t high1 = __umulhi(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
      c0 = high1 ^ c1 ^ k0;
      c1 = low1;
      c2 = high0 ^ c3 ^ k1;
      c3 = low0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    if (++counter_[0] == 0 && ++counter_[1] == 0 && ++counter_[2] == 0) ++counter_[3];
    return make_uint4(c0, c1, c2, c3);
  }

 private:
  uint32_t key_[2], counter_[4];
};

template <class Call> Philox generator_of(const Call& call) {
  const uint64_t seed = call.seed_at ? uint64_t(*call.seed_at) : call.seed;
  const uint64_t offset = call.offset_at ? uint64_t(*call.offset_at) + call.offset : call.offset;
  return Philox(seed, uint64_t(first_index()), offset);
}

// Numbers in (0, 1], of 32 bits or of 53.
inline float uniform_of(uint32_t x) { return x * 0x1p-32f + 0x1p-33f; }
inline double uniform_of(uint32_t x, uint32_t y) {
  return double(uint64_t(x) ^ uint64_t(y) << 21) * 0x1p-53 + 0x1p-54;
}
// Two numbers of the normal distribution (Box and Muller), with the chip's own sine, as cuRAND's are made.
inline float2 normals_of(uint32_t x, uint32_t y) {
  const float turn = 2.3283064e-10f * 6.2831855f;
  const float size = sqrtf(-2.0f * logf(uniform_of(x))), angle = y * turn + turn / 2.0f;
  float2 made;
  __sincosf(angle, &made.x, &made.y);
  return make_float2(made.x * size, made.y * size);
}
inline double2 normals_of(uint4 x) {
  const double u = uniform_of(x.x, x.y), size = sqrt(-2.0 * log(u));
  const double half_turns = double(uint64_t(x.z) ^ uint64_t(x.w) << 21) * 0x1p-52 + 0x1p-53;
  double2 made;
  sincospi(half_turns, &made.x, &made.y);
  return make_double2(made.x * size, made.y * size);
}

enum class Drawn {
  uniform,  // first <= x < second
  normal,   // mean first, deviation second
  log_normal,
  exponential,    // rate first
  cauchy,         // median first, width second
  geometric,      // chance first
  chance,         // 1 with chance first
  in_range,       // base + number % range, range below 2^28
  in_wide_range,  // the same for longer ones
  any_bits,       // 64 bits as they are
  any_number,     // what the type holds and counts exactly, from 0
};

// Numbers of 64 bits: for the wide kinds, and for double and int64.
template <class T, Drawn kWhat> constexpr bool draws_wide() {
  if (kWhat == Drawn::in_wide_range || kWhat == Drawn::any_bits) return true;
  if (kWhat == Drawn::in_range) return false;
  if (kWhat == Drawn::any_number) return std::is_same_v<T, double> || std::is_same_v<T, int64_t>;
  return std::is_same_v<T, double>;
}
constexpr bool is_normal(Drawn what) { return what == Drawn::normal || what == Drawn::log_normal; }
constexpr bool is_whole(Drawn what) { return int(what) >= int(Drawn::in_range); }

// How many whole numbers a type counts exactly, from 0.
template <class T> uint64_t exact_numbers() {
  if constexpr (std::is_same_v<T, double>) return (uint64_t(1) << 53) + 1;
  else if constexpr (std::is_same_v<T, float>) return (uint64_t(1) << 24) + 1;
  else if constexpr (std::is_same_v<T, Half>) return (uint64_t(1) << 11) + 1;
  else if constexpr (std::is_same_v<T, BFloat16>) return (uint64_t(1) << 8) + 1;
  else return uint64_t(std::numeric_limits<T>::max()) + 1;
}

template <class T, Drawn kWhat> T whole_of(const RandomCall& call, uint64_t x) {
  if constexpr (kWhat == Drawn::any_bits) return cast<T>(int64_t(x));
  else if constexpr (kWhat == Drawn::any_number) return cast<T>(int64_t(x % exact_numbers<T>()));
  else if constexpr (kWhat == Drawn::in_range)
    return cast<T>(int64_t(uint32_t(x) % uint32_t(call.range)) + call.base);
  else return cast<T>(int64_t(x % call.range) + call.base);
}

inline float fast_log(float x) { return __logf(x); }  // PyTorch's transformations use the chip's own
inline double fast_log(double x) { return ::log(x); }

// x is uniform in (0, 1], or normal. C: float, or double for double.
template <class T, Drawn kWhat, class C> T drawn_of(const RandomCall& call, C x) {
  const C first = C(call.first), second = C(call.second);
  if constexpr (kWhat == Drawn::uniform) {
    const T low = cast<T>(call.first), high = cast<T>(call.second);
    const T value = cast<T>(x * (C(high) - C(low)) + C(low));
    return C(value) == C(high) ? low : value;
  } else if constexpr (kWhat == Drawn::normal) {
    return cast<T>(x * second + first);
  } else if constexpr (kWhat == Drawn::log_normal) {
    const C value = x * second + first;
    if constexpr (std::is_same_v<C, float>) return cast<T>(__expf(value));
    else return cast<T>(::exp(value));
  } else if constexpr (kWhat == Drawn::exponential) {
    const C half = std::numeric_limits<C>::epsilon() / C(2), log = x >= C(1) - half ? -half : fast_log(x);
    return cast<T>(C(-1) / first * log);
  } else if constexpr (kWhat == Drawn::cauchy) {
    const C least = std::numeric_limits<C>::epsilon(), inside = x > C(1) - least ? C(1) - least
                                                                : x < least      ? least
                                                                                 : x;
    const C angle = C(3.14159265358979323846) * (inside - C(0.5));
    if constexpr (std::is_same_v<C, float>) return cast<T>(first + second * __tanf(angle));
    else return cast<T>(first + second * ::tan(angle));
  } else if constexpr (kWhat == Drawn::geometric) {
    if constexpr (std::is_same_v<C, float>) return cast<T>(::ceilf(__logf(x) / __logf(1.0f - first)));
    else return cast<T>(::ceil(::log(x) / ::log1p(-first)));
  } else {
    return cast<T>(x < first ? C(1) : C(0));
  }
}

template <class T, Drawn kWhat> void random_filled(const RandomCall& call) {
  constexpr bool wide = draws_wide<T, kWhat>();
  constexpr int each = wide ? 2 : 4;
  Philox generator = generator_of(call);
  const int64_t step = grid_step();
  // The places of the elements, one by one: the walk of elements that other kernels have would draw another number each.
  const auto put = [&](int64_t n, T value) {
    if (n >= call.walk.count) return;
    int64_t at[kMaxShapeDims], left = n;
    for (int d = 0; d < call.walk.dims; ++d) {
      at[d] = left % call.walk.sizes[d];
      left /= call.walk.sizes[d];
    }
    element<T>(call.walk, call.out, at) = value;
  };
  for (int64_t begin = first_index(); begin < call.walk.count; begin += step * each) {
    const uint4 x = generator.next();
    if constexpr (is_whole(kWhat) && wide) {
      put(begin, whole_of<T, kWhat>(call, uint64_t(x.x) << 32 | x.y));
      put(begin + step, whole_of<T, kWhat>(call, uint64_t(x.z) << 32 | x.w));
    } else if constexpr (is_whole(kWhat)) {
      const uint32_t numbers[] = {x.x, x.y, x.z, x.w};
#pragma unroll
      for (int k = 0; k < 4; ++k) put(begin + k * step, whole_of<T, kWhat>(call, numbers[k]));
    } else if constexpr (wide) {
      double numbers[2] = {uniform_of(x.x, x.y), uniform_of(x.z, x.w)};
      if constexpr (is_normal(kWhat)) {
        const double2 made = normals_of(x);
        numbers[0] = made.x, numbers[1] = made.y;
      }
#pragma unroll
      for (int k = 0; k < 2; ++k) put(begin + k * step, drawn_of<T, kWhat>(call, numbers[k]));
    } else {
      float numbers[4] = {uniform_of(x.x), uniform_of(x.y), uniform_of(x.z), uniform_of(x.w)};
      if constexpr (is_normal(kWhat)) {
        const float2 a = normals_of(x.x, x.y), b = normals_of(x.z, x.w);
        numbers[0] = a.x, numbers[1] = a.y, numbers[2] = b.x, numbers[3] = b.y;
      }
#pragma unroll
      for (int k = 0; k < 4; ++k) put(begin + k * step, drawn_of<T, kWhat>(call, numbers[k]));
    }
  }
}

template <class T> void chances_drawn(const ChancesCall& call) {
  using P = std::conditional_t<std::is_same_v<T, double>, double, float>;
  for (int64_t begin = 4 * first_index(); begin < call.count; begin += 4 * grid_step()) {
    const uint4 x = generator_of(call).next();
    const float numbers[] = {uniform_of(x.x), uniform_of(x.y), uniform_of(x.z), uniform_of(x.w)};
    for (int k = 0; k < 4 && begin + k < call.count; ++k) {
      const P chance = static_cast<const P*>(call.chances)[begin + k];
      static_cast<T*>(call.out)[begin + k] = cast<T>(P(numbers[k]) <= chance ? 1 : 0);
    }
  }
}

template <class T, bool kNeighbours> void dropped_by(const DropoutCall& call) {
  using C = compute_t<T>;
  const C keep = C(call.keep), scale = C(1) / keep;
  Philox generator = generator_of(call);
  const int64_t step = kNeighbours ? 1 : grid_step();
  for (int64_t begin = first_index() * (kNeighbours ? 4 : 1); begin < call.count; begin += 4 * grid_step()) {
    const uint4 x = generator.next();
    const float numbers[] = {uniform_of(x.x), uniform_of(x.y), uniform_of(x.z), uniform_of(x.w)};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int64_t i = begin + k * step;
      if (i >= call.count) continue;
      const bool stays = C(numbers[k]) < keep;
      static_cast<T*>(call.out)[i] = cast<T>(C(static_cast<const T*>(call.in)[i]) * C(stays) * scale);
      static_cast<bool*>(call.mask)[i] = stays;
    }
  }
}
template <class T> void dropped(const DropoutCall& call) { dropped_by<T, true>(call); }
template <class T> void dropped_apart(const DropoutCall& call) { dropped_by<T, false>(call); }

}  // namespace mt::cuda
