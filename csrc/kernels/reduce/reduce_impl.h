// Definition of the reduction template: per functor and dtype a loop along a row and a loop over columns; how
// the dimensions are walked and split over threads is in reduce.cpp.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/common/cpu_features.h"
#include "kernels/common/halves.h"
#include "kernels/common/packs.h"
#include "kernels/elementwise/functors.h"
#include "kernels/reduce/reduce.h"

namespace mt::kernels {

// Loops of one reduction for one dtype. Accumulators are untyped here; `accumulator` says what they are.
struct ReduceLoops {
  DType accumulator;
  void (*identity)(void* accumulators, int64_t n);
  // Accumulator i takes the n elements of row i; rows are row_stride bytes apart.
  using Rows = void (*)(const char* x, int64_t row_stride, int64_t rows, int64_t n, void* accumulators);
  Rows rows[kLevels];
  // Accumulator i takes element i of each of `lines` lines, line_stride bytes apart.
  using Columns = void (*)(const char* x, int64_t line_stride, int64_t lines, int64_t n, void* accumulators);
  Columns columns[kLevels];
  // What these do of floats, for float16 and bfloat16; null where such numbers are made floats before.
  Rows half_rows[2];
  Columns half_columns[2];
  void (*merge)(void* into, const void* from, int64_t n);
  void (*finish)(void* accumulators, int64_t n, int64_t count);
};

struct ReduceKernel {
  const char* name;
  bool empty_allowed;
  DTypeSet domain;
  const ReduceLoops*
      loops[kDTypeCount];  // null outside the domain and for half types, which are converted to float
};

void run_reduce(const ReduceKernel& kernel, const View& in, const View& out);

namespace detail {

// An element as the accumulator takes it: converted, unless the functor says what it contributes.
template <class Op, class A, class T>
[[gnu::always_inline]] inline A loaded(T x) {
  if constexpr (requires { Op::template load<A>(x); }) return Op::template load<A>(x);
  else return cast<A>(x);
}

template <class Op, class T>
struct ReduceLoopsOf {
  using A = typename Op::template accumulator<T>;
  using Rows = ReduceLoops::Rows;
  using Columns = ReduceLoops::Columns;
  // Independent partial results: as many as fill eight 256-bit registers, which hides the latency of an
  // addition.
  // Comparisons need registers of their own: half as many.
  static constexpr int kLanes =
      is_complex_v<A> ? 8 : std::min<int>((Op::kind == Accumulate::same ? 128 : 256) / sizeof(A), 64);

  static void identity(void* accumulators, int64_t n) {
    std::fill_n(static_cast<A*>(accumulators), n, Op::template identity<A>());
  }
  // The lanes as one, in pairs: a chain, one waiting for the other, would take as long as a short row itself.
  template <class L, int kCount>
  [[gnu::always_inline]] static inline L folded(L* lanes) {
    if constexpr (kCount == 1) {
      return lanes[0];
    } else {
      for (int l = 0; l < kCount / 2; ++l) lanes[l] = Op::combine(lanes[l], lanes[l + kCount / 2]);
      return folded<L, kCount / 2>(lanes);
    }
  }
  // The same of floats or doubles, as halves of a vector: of so few lanes compilers make a move for each.
  template <int kCount>
  [[gnu::always_inline]] static inline T folded_together(T* lanes) {
    constexpr int64_t register_bytes = 16, half = kCount / 2;
    const auto combined = [](const auto& a, const auto& b) {
      if constexpr (Op::kind == Accumulate::product) return a * b;
      else return a + b;
    };
    if constexpr (kCount == 1) {
      return lanes[0];
    } else if constexpr (half * int64_t(sizeof(T)) < register_bytes) {
      return folded<T, kCount>(lanes);
    } else {
      typedef T Half __attribute__((vector_size(half * sizeof(T))));
      Half low, high;
      std::memcpy(&low, lanes, sizeof(low)), std::memcpy(&high, lanes + half, sizeof(high));
      T rest[half];
      low = combined(low, high);
      std::memcpy(rest, &low, sizeof(rest));
      return folded_together<half>(rest);
    }
  }
  // Note [Short sums]
  // Converting every float to double takes three times as long as adding it up. So eight terms at a time are added in
  // float, as a tree, which rounds three times at most, and only these short sums go into the double. What is left, and
  // a short row, is up to seven terms for each lane. Returns how many elements were taken.
  // Products of floats are taken the same way, for the sake of the tree: compilers keep more than a few lanes in memory.
  static constexpr bool kShortSums =
      (std::is_same_v<T, float> && std::is_same_v<A, double> && Op::kind == Accumulate::wide) ||
      (std::is_floating_point_v<T> && Op::kind == Accumulate::product);
  static constexpr int64_t kSums = 16;
  template <class E, class S>
  [[gnu::always_inline]] static inline int64_t short_sums(const E* x, int64_t n, S (&sums)[kSums]) {
    constexpr int64_t lanes = kSums, terms = 8;
    if (n < lanes) return 0;
    int64_t i = 0;
    for (; i + lanes * terms <= n; i += lanes * terms) {
      for (int64_t l = 0; l < lanes; ++l) {
        const auto pair = [&](int64_t term) {
          const E* at = x + i + l + term * lanes;
          return Op::combine(loaded<Op, E>(at[0]), loaded<Op, E>(at[lanes]));
        };
        const E sum = Op::combine(Op::combine(pair(0), pair(2)), Op::combine(pair(4), pair(6)));
        sums[l] = Op::combine(sums[l], S(sum));
      }
    }
    if (i + lanes <= n) {
      E parts[lanes];
      for (int64_t l = 0; l < lanes; ++l) parts[l] = loaded<Op, E>(x[i + l]);
      for (i += lanes; i + lanes <= n; i += lanes)
        for (int64_t l = 0; l < lanes; ++l) parts[l] = Op::combine(parts[l], loaded<Op, E>(x[i + l]));
      for (int64_t l = 0; l < lanes; ++l) sums[l] = Op::combine(sums[l], S(parts[l]));
    }
    return i;
  }
  [[gnu::always_inline]] static inline int64_t short_sums(const T* x, int64_t n, A& total) {
    if (n >= kSums && n < kSums * 8) {  // adding up lanes of doubles would take longer than the row
      T sums[kSums];
      for (int64_t l = 0; l < kSums; ++l) sums[l] = loaded<Op, T>(x[l]);
      int64_t i = kSums;
      for (; i + kSums <= n; i += kSums)
        for (int64_t l = 0; l < kSums; ++l) sums[l] = Op::combine(sums[l], loaded<Op, T>(x[i + l]));
      total = Op::combine(total, A(kHasLevels ? folded_together<kSums>(sums) : folded<T, kSums>(sums)));
      return i;
    }
    A sums[kSums];
    for (int64_t l = 0; l < kSums; ++l) sums[l] = Op::template identity<A>();
    const int64_t taken = short_sums(x, n, sums);
    if (taken) total = Op::combine(total, folded<A, kSums>(sums));
    return taken;
  }

  // Note [The larger of two, and NaN]
  // As it is written in maximum(), the larger of two numbers or NaN becomes branches where several of them follow each
  // other. So the larger number is found by a comparison that leaves NaN out, which is one instruction of x86, and NaN
  // is looked for beside it.
#if defined(__x86_64__)
  static constexpr bool kExtreme = extreme_kind<Op> != 0 && std::is_floating_point_v<T>;
#else
  static constexpr bool kExtreme = false;
#endif
  [[gnu::always_inline]] static inline A better(A a, A b) {  // b, where one is NaN
    if constexpr (extreme_kind<Op> > 0) return a > b ? a : b;
    else return a < b ? a : b;
  }
  // The first of the lanes gets the best of all, in pairs, and whether one was NaN: as vectors, while these are wide.
  template <int64_t kWidth, class Bits>
  [[gnu::always_inline]] static inline void fold_extremes(A* best, Bits* nan) {
    if constexpr (kWidth > 1) {
      constexpr int64_t half = kWidth / 2;
      if constexpr (half * sizeof(A) >= 16) {
        typedef A Lanes __attribute__((vector_size(half * sizeof(A))));
        typedef Bits Masks __attribute__((vector_size(half * sizeof(A))));
        Lanes low, high;
        Masks low_nan, high_nan;
        std::memcpy(&low, best, sizeof(low)), std::memcpy(&high, best + half, sizeof(high));
        std::memcpy(&low_nan, nan, sizeof(low)), std::memcpy(&high_nan, nan + half, sizeof(high));
        if constexpr (extreme_kind<Op> > 0) low = high > low ? high : low;
        else low = high < low ? high : low;
        low_nan |= high_nan;
        std::memcpy(best, &low, sizeof(low)), std::memcpy(nan, &low_nan, sizeof(low));
      } else {
        for (int64_t l = 0; l < half; ++l) best[l] = better(best[l + half], best[l]), nan[l] |= nan[l + half];
      }
      fold_extremes<half>(best, nan);
    }
  }
  [[gnu::always_inline]] static inline A extreme_of(const T* x, int64_t n, A total) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr int64_t lanes = 128 / sizeof(T), few = 32 / sizeof(T);
    // The last block may begin inside the one before, as the best of a number twice is the same. A short row is taken in
    // vectors that are written as such: so few lanes compilers take one by one.
    if (n >= few && n < 4 * lanes) {
      typedef A Lanes __attribute__((vector_size(few * sizeof(A))));
      typedef Bits Masks __attribute__((vector_size(few * sizeof(A))));
      Lanes best = total - Lanes{};
      Masks nan{};
      for (int64_t i = 0; i < n; i += few) {
        Lanes block;
        std::memcpy(&block, x + std::min(i, n - few), sizeof(block));
        if constexpr (extreme_kind<Op> > 0) best = block > best ? block : best;
        else best = block < best ? block : best;
        nan |= Masks(block != block);
      }
      A first[few];
      Bits missing[few];
      std::memcpy(first, &best, sizeof(best)), std::memcpy(missing, &nan, sizeof(nan));
      fold_extremes<few>(first, missing);
      return missing[0] ? std::numeric_limits<A>::quiet_NaN() : first[0];
    }
    if (n >= 4 * lanes) {
      A best[lanes];
      Bits nan[lanes] = {};
      for (int64_t l = 0; l < lanes; ++l) best[l] = total;
      for (int64_t i = 0; i < n; i += 2 * lanes) {
        const T* block = x + std::min(i, n - 2 * lanes);
        for (int64_t l = 0; l < lanes; ++l) {
          const A first = block[l], second = block[l + lanes];
          best[l] = better(second, better(first, best[l]));
          nan[l] |= __builtin_isunordered(first, second) ? ~Bits(0) : Bits(0);
        }
      }
      fold_extremes<lanes>(best, nan);
      return nan[0] ? std::numeric_limits<A>::quiet_NaN() : best[0];
    }
    Bits missing = 0;
    for (int64_t i = 0; i < n; ++i) total = better(x[i], total), missing |= Bits(x[i] != x[i]);
    return missing ? std::numeric_limits<A>::quiet_NaN() : total;
  }
  [[gnu::always_inline]] static inline void extreme_of_columns(const char* bytes, int64_t line_stride,
                                                               int64_t lines, int64_t n, A* a) {
    const auto line = [&](int64_t l) { return reinterpret_cast<const T*>(bytes + l * line_stride); };
    constexpr A nan = std::numeric_limits<A>::quiet_NaN();
    for (int64_t l = 0; l < lines; l += 4) {  // a line may be taken twice
      const T *x0 = line(l), *x1 = line(std::min(l + 1, lines - 1)), *x2 = line(std::min(l + 2, lines - 1)),
              *x3 = line(std::min(l + 3, lines - 1));
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        const A found = better(better(better(x0[i], x1[i]), better(x2[i], x3[i])), a[i]);
        const bool missing =
            (x0[i] != x0[i]) | (x1[i] != x1[i]) | (x2[i] != x2[i]) | (x3[i] != x3[i]) | (a[i] != a[i]);
        a[i] = missing ? nan : found;
      }
    }
  }

  // Whether some are true, or all: looked for in runs, as wide as an element, until the answer is known.
  static constexpr bool kTruth = Op::kind == Accumulate::truth && !is_complex_v<T>;
  [[gnu::always_inline]] static inline A truth_of(const T* x, int64_t n, A total) {
    constexpr int64_t run = 2048;
    using Number = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    using Bits = typename unsigned_of<sizeof(T)>::type;
    const Number* numbers = reinterpret_cast<const Number*>(x);
    const bool known = !Op::template identity<A>();  // what decides
    for (int64_t begin = 0; begin < n && total != known; begin += run) {
      const int64_t end = std::min(n, begin + run);
      Bits found = 0;
      if (known) {
        for (int64_t i = begin; i < end; ++i) found |= Bits(numbers[i] != Number(0));
      } else {
        for (int64_t i = begin; i < end; ++i) found |= Bits(numbers[i] == Number(0));
      }
      if (found) total = known;
    }
    return total;
  }
  // As bytes, of which compilers make vectors: true is 1.
  [[gnu::always_inline]] static inline void truth_of_columns(const char* bytes, int64_t line_stride,
                                                             int64_t lines, int64_t n, A* a) {
    uint8_t* found = reinterpret_cast<uint8_t*>(a);
    for (int64_t l = 0; l < lines; ++l) {
      const T* x = reinterpret_cast<const T*>(bytes + l * line_stride);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) found[i] = Op::combine(found[i], uint8_t(x[i] != T(0)));
    }
  }
  // Sums of complex numbers are those of their parts, which lie in turns.
  static constexpr bool kParts = is_complex_v<T> && Op::kind == Accumulate::wide;
  [[gnu::always_inline]] static inline int64_t sum_of_parts(const T* x, int64_t n, A& total) {
    const auto* parts = reinterpret_cast<const typename T::value_type*>(x);
    double sums[kSums] = {};
    int64_t i = 0;
    if constexpr (std::is_same_v<T, complex64>) i = short_sums(parts, 2 * n, sums);
    for (; i + kSums <= 2 * n; i += kSums)
      for (int64_t l = 0; l < kSums; ++l) sums[l] += double(parts[i + l]);
    for (int64_t l = 0; l < kSums; l += 2) total += A(sums[l], sums[l + 1]);
    return i / 2;
  }

  // What is left, and short rows: half as many at once, then half of these, down to eight. Without a loop, because of one
  // over up to three groups of eight integers GCC 12 keeps the second alone.
  template <int kWidth>
  [[gnu::always_inline]] static inline void fewer(const T* x, int64_t& i, int64_t n, A& total) {
    if constexpr (kWidth >= std::min(8, kLanes / 2)) {
      if (n - i >= kWidth) {
        A lanes[kWidth];
        for (int l = 0; l < kWidth; ++l) lanes[l] = loaded<Op, A>(x[i + l]);
        total = Op::combine(total, folded<A, kWidth>(lanes));
        i += kWidth;
      }
      fewer<kWidth / 2>(x, i, n, total);
    }
  }

  [[gnu::always_inline]] static inline A row_body(const T* x, int64_t n, A total) {
    if constexpr (kTruth) return truth_of(x, n, total);
    if constexpr (kExtreme) return total == total ? extreme_of(x, n, total) : total;
#if defined(__aarch64__)
    if constexpr (extreme_kind<Op> != 0 && kPacked<T>)
      return n ? extreme_of_row<(extreme_kind<Op> > 0)>(x, n, total) : total;
#endif
    int64_t i = 0;
    if constexpr (kShortSums) i = short_sums(x, n, total);
    if constexpr (kParts) i = sum_of_parts(x, n, total);
    if constexpr (std::is_same_v<T, float> && short_range<Op>.most > 0) {
      if (n >= 128) {
        A sum = 0;
        int64_t taken = short_sums(x, n, sum);
        for (; taken < n; ++taken) sum = Op::combine(sum, loaded<Op, A>(x[taken]));
        if (sum > short_range<Op>.least && sum < short_range<Op>.most) return Op::combine(total, sum);
      }
    }
    if (n - i >= kLanes) {
      A lanes[kLanes];
      for (int l = 0; l < kLanes; ++l) lanes[l] = loaded<Op, A>(x[i + l]);
      for (i += kLanes; i + kLanes <= n; i += kLanes) {
        for (int l = 0; l < kLanes; ++l) lanes[l] = Op::combine(lanes[l], loaded<Op, A>(x[i + l]));
      }
      total = Op::combine(total, folded<A, kLanes>(lanes));
    }
    fewer<kLanes / 2>(x, i, n, total);
    for (; i < n; ++i) total = Op::combine(total, loaded<Op, A>(x[i]));
    return total;
  }
  [[gnu::always_inline]] static inline void rows_body(const char* bytes, int64_t row_stride, int64_t rows,
                                                      int64_t n, void* accumulators) {
    A* a = static_cast<A*>(accumulators);
    for (int64_t r = 0; r < rows; ++r)
      a[r] = row_body(reinterpret_cast<const T*>(bytes + r * row_stride), n, a[r]);
  }
  // Several lines at a time: accumulators are wider than elements, so loading and storing them would dominate.
  // `Short` is what they are added up in first; see Note [Short sums].
  template <class Short, int kLines>
  [[gnu::always_inline]] static inline Short column_of(const T* const* lines, int64_t i) {
    constexpr int half = kLines / 2;
    if constexpr (kLines == 1) return loaded<Op, Short>(lines[0][i]);
    else return Op::combine(column_of<Short, half>(lines, i), column_of<Short, half>(lines + half, i));
  }
  [[gnu::always_inline]] static inline void columns_body(const char* bytes, int64_t line_stride,
                                                         int64_t lines, int64_t n, void* accumulators) {
    if constexpr (kParts) {
      using Parts = ReduceLoopsOf<Op, typename T::value_type>;
      return Parts::columns_body(bytes, line_stride, lines, 2 * n, accumulators);
    }
    A* a = static_cast<A*>(accumulators);
    if constexpr (kExtreme) return extreme_of_columns(bytes, line_stride, lines, n, a);
    if constexpr (kTruth) return truth_of_columns(bytes, line_stride, lines, n, a);
    using Short = std::conditional_t<kShortSums, T, A>;
    int64_t l = 0;
    const auto take = [&](auto count) __attribute__((always_inline)) {
      constexpr int together = decltype(count)::value;
      for (; l + together <= lines; l += together) {
        const T* from[together];
        for (int k = 0; k < together; ++k)
          from[k] = reinterpret_cast<const T*>(bytes + (l + k) * line_stride);
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) a[i] = Op::combine(a[i], A(column_of<Short, together>(from, i)));
      }
    };
    take(std::integral_constant<int, 8>{});
    take(std::integral_constant<int, 4>{});
    take(std::integral_constant<int, 1>{});
  }
  static void rows(const char* x, int64_t stride, int64_t count, int64_t n, void* a) {
    rows_body(x, stride, count, n, a);
  }
  static void columns(const char* x, int64_t stride, int64_t lines, int64_t n, void* a) {
    columns_body(x, stride, lines, n, a);
  }
  MT_WIDE static void rows_wide(const char* x, int64_t stride, int64_t count, int64_t n, void* a) {
    rows_body(x, stride, count, n, a);
  }
  MT_WIDEST static void rows_widest(const char* x, int64_t stride, int64_t count, int64_t n, void* a) {
    rows_body(x, stride, count, n, a);
  }
  MT_WIDE static void columns_wide(const char* x, int64_t stride, int64_t lines, int64_t n, void* a) {
    columns_body(x, stride, lines, n, a);
  }
  MT_WIDEST static void columns_widest(const char* x, int64_t stride, int64_t lines, int64_t n, void* a) {
    columns_body(x, stride, lines, n, a);
  }

  // Halves are made floats on the way. A sum in float of so few of them has more digits than they have, so only these
  // sums go into the double; see Note [Short sums].
  static constexpr bool kHalfRows =
      kHasLevels && std::is_same_v<T, float> && (kShortSums || short_range<Op>.most > 0);
  static constexpr int64_t kHalfBlock = 1024;
#if defined(__x86_64__)
  static constexpr int64_t kEight = 8;
  template <class H>
  MT_WIDE [[gnu::always_inline]] static inline __m256 with_eight(__m256 sum, const H* at) {
    __m256 terms = halves::widened_eight(at);
    if constexpr (requires(float x) { Op::template load<float>(x); }) {
      float numbers[kEight];
      _mm256_storeu_ps(numbers, terms);
      for (float& x : numbers) x = loaded<Op, float>(x);
      terms = _mm256_loadu_ps(numbers);
    }
    if constexpr (Op::kind == Accumulate::product) return _mm256_mul_ps(sum, terms);
    else return _mm256_add_ps(sum, terms);
  }
  template <class H>
  MT_WIDE [[gnu::always_inline]] static inline A sum_of_halves(const H* x, int64_t n) {
    const __m256 none = _mm256_set1_ps(float(Op::template identity<A>()));
    __m256 a = none, b = none, c = none, d = none;
    int64_t i = 0;
    for (; i + 4 * kEight <= n; i += 4 * kEight) {
      a = with_eight(a, x + i), b = with_eight(b, x + i + kEight);
      c = with_eight(c, x + i + 2 * kEight), d = with_eight(d, x + i + 3 * kEight);
    }
    for (; i + kEight <= n; i += kEight) a = with_eight(a, x + i);
    float lanes[4 * kEight];
    _mm256_storeu_ps(lanes, a), _mm256_storeu_ps(lanes + kEight, b);
    _mm256_storeu_ps(lanes + 2 * kEight, c), _mm256_storeu_ps(lanes + 3 * kEight, d);
    A total = folded_together<4 * kEight>(lanes);
    for (; i < n; ++i) total = Op::combine(total, A(loaded<Op, float>(float(x[i]))));
    return total;
  }
  template <class H>
  MT_WIDE static void half_rows(const char* bytes, int64_t row_stride, int64_t rows, int64_t n,
                                void* accumulators) {
    A* a = static_cast<A*>(accumulators);
    for (int64_t r = 0; r < rows; ++r) {
      const H* row = reinterpret_cast<const H*>(bytes + r * row_stride);
      for (int64_t begin = 0; begin < n; begin += kHalfBlock) {
        const int64_t count = std::min(kHalfBlock, n - begin);
        A sum = sum_of_halves(row + begin, count);
        if constexpr (short_range<Op>.most > 0) {
          if (!(sum > short_range<Op>.least && sum < short_range<Op>.most)) {
            float numbers[kHalfBlock];
            for (int64_t i = 0; i < count; ++i) numbers[i] = float(row[begin + i]);
            sum = row_body(numbers, count, A(0));
          }
        }
        a[r] = Op::combine(a[r], sum);
      }
    }
  }
  static constexpr int64_t kHalfLines = 16;  // whose sum is one of floats
  // A few columns of at most so many lines.
  template <class H, int64_t kVectors>
  MT_WIDE [[gnu::always_inline]] static inline void take_columns(const char* bytes, int64_t line_stride,
                                                                 int64_t lines, A* a) {
    const __m256 none = _mm256_set1_ps(float(Op::template identity<A>()));
    __m256 sums[kVectors];
    for (__m256& sum : sums) sum = none;
    for (int64_t l = 0; l < lines; ++l) {
      const H* line = reinterpret_cast<const H*>(bytes + l * line_stride);
      for (int64_t v = 0; v < kVectors; ++v) sums[v] = with_eight(sums[v], line + v * kEight);
    }
    float columns[kVectors * kEight];
    for (int64_t v = 0; v < kVectors; ++v) _mm256_storeu_ps(columns + v * kEight, sums[v]);
    for (int64_t c = 0; c < kVectors * kEight; ++c) a[c] = Op::combine(a[c], A(columns[c]));
  }
  template <class H>
  MT_WIDE static void half_columns(const char* bytes, int64_t line_stride, int64_t lines, int64_t n,
                                   void* accumulators) {
    A* a = static_cast<A*>(accumulators);
    for (int64_t l = 0; l < lines; l += kHalfLines) {
      const char* first = bytes + l * line_stride;
      const int64_t count = std::min(kHalfLines, lines - l);
      int64_t i = 0;
      // A line of the cache at a time, which may be gone when the next column comes.
      for (; i + 4 * kEight <= n; i += 4 * kEight)
        take_columns<H, 4>(first + i * sizeof(H), line_stride, count, a + i);
      for (; i + kEight <= n; i += kEight)
        take_columns<H, 1>(first + i * sizeof(H), line_stride, count, a + i);
      if (i == n) continue;
      uint16_t rest[kHalfLines][kEight] = {};
      A results[kEight] = {};
      for (int64_t k = 0; k < count; ++k)
        std::memcpy(rest[k], first + k * line_stride + i * sizeof(H), size_t(n - i) * sizeof(H));
      std::copy(a + i, a + n, results);
      take_columns<H, 1>(reinterpret_cast<const char*>(rest), sizeof(rest[0]), count, results);
      std::copy_n(results, n - i, a + i);
    }
  }
#endif
  template <class H>
  static constexpr Rows rows_of_halves() {
#if defined(__x86_64__)
    if constexpr (kHalfRows) return &half_rows<H>;
#endif
    return nullptr;
  }
  template <class H>
  static constexpr Columns columns_of_halves() {
#if defined(__x86_64__)
    if constexpr (kHalfRows && kShortSums) return &half_columns<H>;
#endif
    return nullptr;
  }

  static void merge(void* into, const void* from, int64_t n) {
    A* a = static_cast<A*>(into);
    const A* b = static_cast<const A*>(from);
    for (int64_t i = 0; i < n; ++i) a[i] = Op::combine(a[i], b[i]);
  }
  static void finish(void* accumulators, int64_t n, int64_t count) {
    A* a = static_cast<A*>(accumulators);
    for (int64_t i = 0; i < n; ++i) a[i] = Op::finish(a[i], count);
  }
  static constexpr auto wide_rows() {
    if constexpr (kHasLevels) return &rows_wide;
    else return &rows;
  }
  static constexpr auto widest_rows() {
    if constexpr (kHasLevels && std::is_same_v<T, float>) return &rows_widest;
    else return wide_rows();
  }
  static constexpr auto wide_columns() {
    if constexpr (kHasLevels) return &columns_wide;
    else return &columns;
  }
  static constexpr auto widest_columns() {
    if constexpr (kHasLevels && std::is_same_v<T, float>) return &columns_widest;
    else return wide_columns();
  }
  static constexpr Rows rows_at(int level) {
    const Rows at[kLevels] = {&rows, wide_rows(), widest_rows()};
    return at[level_or_only(level)];
  }
  static constexpr Columns columns_at(int level) {
    const Columns at[kLevels] = {&columns, wide_columns(), widest_columns()};
    return at[level_or_only(level)];
  }
  static constexpr ReduceLoops loops = {dtype_of<A>,
                                        identity,
                                        {rows_at(0), rows_at(1), rows_at(2)},
                                        {columns_at(0), columns_at(1), columns_at(2)},
                                        {rows_of_halves<Half>(), rows_of_halves<BFloat16>()},
                                        {columns_of_halves<Half>(), columns_of_halves<BFloat16>()},
                                        merge,
                                        finish};
};

// The largest of bools is that of bytes which are 0 or 1: of these compilers make vectors.
template <class Op, class T>
constexpr const ReduceLoops* reduce_loops_for() {
  using E = std::conditional_t<std::is_same_v<T, bool> && extreme_kind<Op> != 0, uint8_t, T>;
  if constexpr (contains(Op::domain, dtype_of<T>) && !is_half_v<T>) return &ReduceLoopsOf<Op, E>::loops;
  else return nullptr;
}

template <class Op>
inline constexpr ReduceKernel reduce_kernel_of = {Op::name,
                                                  Op::empty_allowed,
                                                  Op::domain,
                                                  {
#define X(name, type, legacy) reduce_loops_for<Op, type>(),
                                                      MT_FORALL_DTYPES(X)
#undef X
                                                  }};

}  // namespace detail

template <class Op>
void reduce(const View& in, const View& out) {
  run_reduce(detail::reduce_kernel_of<Op>, in, out);
}

}  // namespace mt::kernels
