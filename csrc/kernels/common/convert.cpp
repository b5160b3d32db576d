#include "kernels/common/convert.h"

#include <algorithm>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "kernels/common/cpu_features.h"
#include "kernels/common/halves.h"
#include "kernels/common/levels.h"
#include "kernels/common/types.h"

namespace mt::kernels {
namespace {

// Bytes of one size move alike, whatever they mean; bool is moved as a byte so that it stays what it was.
struct Bytes16 {
  uint64_t low, high;
};
template <size_t Size> struct unit : unsigned_of<Size> {};
template <> struct unit<16> {
  using type = Bytes16;
};

// The baseline of x86-64 has no instruction that turns bytes round.
template <class U>
[[gnu::always_inline]] inline void turn_round(const U* in, U* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = in[-i];
}
template <class U>
MT_WIDE void turn_round_wide(const U* in, U* out, int64_t n) {
  turn_round(in, out, n);
}

// Such as one part of complex numbers.
template <class U>
[[gnu::always_inline]] inline void take_every_second(const U* in, U* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = in[2 * i];
}
template <class U>
MT_WIDE void take_every_second_wide(const U* in, U* out, int64_t n) {
  take_every_second(in, out, n);
}

template <class U>
void move(const char* source, int64_t source_stride, char* target, int64_t target_stride, int64_t n) {
  constexpr int64_t size = sizeof(U);
  if (target_stride == size) {
    if (source_stride == size) {
      if (source != target) std::memcpy(target, source, size_t(n * size));
      return;
    }
    if (source_stride == 0) return repeat(source, size, target, n);
    U* out = reinterpret_cast<U*>(target);
    if (source_stride == -size) {
      const U* in = reinterpret_cast<const U*>(source);
      return cpu_level ? turn_round_wide(in, out, n) : turn_round(in, out, n);
    }
    if (source_stride == 2 * size) {
      const U* in = reinterpret_cast<const U*>(source);
      return cpu_level ? take_every_second_wide(in, out, n) : take_every_second(in, out, n);
    }
    for (int64_t i = 0; i < n; ++i) out[i] = *reinterpret_cast<const U*>(source + i * source_stride);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    *reinterpret_cast<U*>(target + i * target_stride) =
        *reinterpret_cast<const U*>(source + i * source_stride);
  }
}

// A tensor of bools that is a view of other numbers may hold any byte.
template <class From>
[[gnu::always_inline]] inline From loaded(const From* element) {
  if constexpr (std::is_same_v<From, bool>) return *reinterpret_cast<const uint8_t*>(element) != 0;
  else return *element;
}

template <class From, class To>
[[gnu::always_inline]] inline void convert_dense(const From* in, To* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = cast<To>(loaded(in + i));
}
template <class From, class To>
MT_WIDE void convert_dense_wide(const From* in, To* out, int64_t n) {
  convert_dense(in, out, n);
}
#if defined(__x86_64__)
// The compiler does not find these instructions by itself. The rest of fewer than eight goes through a padded
// block, so that a value converts alike wherever it stands.
template <>
MT_WIDE void convert_dense_wide(const Half* in, float* out, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  }
  if (i == n) return;
  alignas(16) uint16_t rest[8] = {};
  alignas(32) float converted[8];
  std::memcpy(rest, in + i, size_t(n - i) * sizeof(Half));
  _mm256_store_ps(converted, _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(rest))));
  std::memcpy(out + i, converted, size_t(n - i) * sizeof(float));
}
template <>
MT_WIDE void convert_dense_wide(const float* in, Half* out, int64_t n) {
  constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), nearest));
  }
  if (i == n) return;
  alignas(32) float rest[8] = {};
  alignas(16) uint16_t converted[8];
  std::memcpy(rest, in + i, size_t(n - i) * sizeof(float));
  _mm_store_si128(reinterpret_cast<__m128i*>(converted), _mm256_cvtps_ph(_mm256_load_ps(rest), nearest));
  std::memcpy(static_cast<void*>(out + i), converted, size_t(n - i) * sizeof(Half));
}

template <class H>
MT_WIDEST void convert_dense_widest(const H* in, float* out, int64_t n) {
  halves::widen(in, out, n);
}
template <class H>
MT_WIDEST void convert_dense_widest(const float* in, H* out, int64_t n) {
  halves::narrow(in, out, n);
}
#elif defined(__aarch64__)
// The same, where they belong to the baseline.
template <>
inline void convert_dense(const Half* in, float* out, int64_t n) {
  const auto widened = [](uint16x4_t bits) { return vcvt_f32_f16(vreinterpret_f16_u16(bits)); };
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) vst1q_f32(out + i, widened(vld1_u16(&in[i].bits)));
  for (; i < n; ++i) out[i] = vgetq_lane_f32(widened(vdup_n_u16(in[i].bits)), 0);
}
template <>
inline void convert_dense(const float* in, Half* out, int64_t n) {
  const auto narrowed = [](float32x4_t value) { return vreinterpret_u16_f16(vcvt_f16_f32(value)); };
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) vst1_u16(&out[i].bits, narrowed(vld1q_f32(in + i)));
  for (; i < n; ++i) out[i].bits = vget_lane_u16(narrowed(vdupq_n_f32(in[i])), 0);
}
// BFloat16::from_float in fewer steps than the compiler finds: the upper halves of two vectors are the result.
template <>
inline void convert_dense(const float* in, BFloat16* out, int64_t n) {
  const auto rounded = [](float32x4_t value) {
    const uint32x4_t word = vreinterpretq_u32_f32(value);
    const uint32x4_t even = vsraq_n_u32(vaddq_u32(word, vdupq_n_u32(0x7fff)), vshlq_n_u32(word, 15), 31);
    const uint32x4_t quiet = vorrq_u32(word, vdupq_n_u32(0x400000));
    return vreinterpretq_u16_u32(vbslq_u32(vceqq_f32(value, value), even, quiet));
  };
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    vst1q_u16(&out[i].bits, vuzp2q_u16(rounded(vld1q_f32(in + i)), rounded(vld1q_f32(in + i + 4))));
  for (; i < n; ++i) out[i] = BFloat16(in[i]);
}
#endif

// With AVX-512 alone, floats become vectors of the 64-bit integers that cast() takes them through, and whole vectors
// are compared with zero.
template <class From, class To>
inline constexpr bool worth_widest =
    kHasLevels && std::is_arithmetic_v<From> && std::is_arithmetic_v<To> &&
    (std::is_floating_point_v<From> ? is_integer_v<To> || std::is_same_v<To, bool>
                                    : std::is_same_v<To, bool> || (sizeof(From) == 1 && sizeof(To) >= 4));
template <class From, class To>
MT_WIDEST void convert_dense_of_all(const From* in, To* out, int64_t n) {
  convert_dense(in, out, n);
}

// Pairs worth compiling for the wide level: what mixed precision training converts all the time.
template <class From, class To>
inline constexpr bool worth_wide =
    (is_half_v<From> && std::is_same_v<To, float>) || (std::is_same_v<From, float> && is_half_v<To>);

[[gnu::noinline, gnu::noclone]] void convert_twice(Converter first, Converter second, int64_t between,
                                                   const char* source, int64_t source_stride, char* target,
                                                   int64_t target_stride, int64_t n) {
  constexpr int64_t kBytes = 2048;
  alignas(64) char run[kBytes];
  for (int64_t done = 0, most = kBytes / between; done < n; done += most) {
    const int64_t count = std::min(most, n - done);
    first(source + done * source_stride, source_stride, run, between, count);
    second(run, between, target + done * target_stride, target_stride, count);
  }
}

template <class From, class To>
void convert(const char* source, int64_t source_stride, char* target, int64_t target_stride, int64_t n) {
  if (source_stride == int64_t(sizeof(From)) && target_stride == int64_t(sizeof(To))) {
    const From* in = reinterpret_cast<const From*>(source);
    To* out = reinterpret_cast<To*>(target);
    if constexpr (worth_wide<From, To>) {
#if defined(__x86_64__)
      if (cpu_level == 2) return convert_dense_widest(in, out, n);
#endif
      if (cpu_level) return convert_dense_wide(in, out, n);
    }
    if constexpr (worth_widest<From, To>) {
      if (cpu_level == 2) return convert_dense_of_all(in, out, n);
    }
    return convert_dense(in, out, n);
  }
  // What is converted in vectors is brought together before, and spread afterwards.
  if constexpr (worth_wide<From, To>) {
    if (source_stride == int64_t(sizeof(From)))
      return convert_twice(&convert<From, To>, &move<typename unit<sizeof(To)>::type>, sizeof(To), source,
                           source_stride, target, target_stride, n);
    if (source_stride != 0 && n >= 8)
      return convert_twice(&move<typename unit<sizeof(From)>::type>, &convert<From, To>, sizeof(From), source,
                           source_stride, target, target_stride, n);
  }
  for (int64_t i = 0; i < n; ++i) {
    *reinterpret_cast<To*>(target + i * target_stride) =
        cast<To>(loaded(reinterpret_cast<const From*>(source + i * source_stride)));
  }
}

template <class From, class To>
constexpr Converter choose();

template <class From, class Between, class To>
void convert_through(const char* source, int64_t source_stride, char* target, int64_t target_stride,
                     int64_t n) {
  convert_twice(choose<From, Between>(), choose<Between, To>(), sizeof(Between), source, source_stride,
                target, target_stride, n);
}

// How a pair is converted, so that every value becomes what cast<To>(From) makes of it. Loops of their own for all four
// hundred pairs are most of what this library takes to compile, so a pair has one only if it is usual, or no other two
// give the same: what cast() itself takes through another type goes that way in runs, and integers of one width are read
// and written by the loops of the signed ones.
template <class From, class To>
constexpr Converter choose() {
  constexpr bool narrow = is_half_v<From> || is_float8_v<From> || is_half_v<To> || is_float8_v<To>;
  constexpr bool complex_half = std::is_same_v<From, ComplexHalf> || std::is_same_v<To, ComplexHalf>;
  constexpr bool to_bool = std::is_same_v<To, bool>;
  if constexpr (std::is_same_v<From, To> ||
                (is_integer_v<From> && is_integer_v<To> && sizeof(From) == sizeof(To))) {
    return &move<typename unit<sizeof(From)>::type>;
  } else if constexpr (narrow) {
    if constexpr (std::is_same_v<From, float> || std::is_same_v<To, float>) return &convert<From, To>;
    else return &convert_through<From, float, To>;
  } else if constexpr (std::is_same_v<From, ComplexHalf> && !is_complex_v<To> && !to_bool) {
    return choose<Half, To>();  // real parts lie a whole element apart
  } else if constexpr (complex_half) {
    if constexpr (std::is_same_v<From, complex64> || std::is_same_v<To, complex64>) return &convert<From, To>;
    else return &convert_through<From, complex64, To>;
  } else if constexpr (is_complex_v<From>) {
    using Real = typename From::value_type;
    if constexpr (is_complex_v<To> || to_bool || std::is_same_v<To, Real>) return &convert<From, To>;
    else return choose<Real, To>();  // likewise
  } else if constexpr (is_complex_v<To>) {
    using Real = typename To::value_type;
    if constexpr (std::is_same_v<From, Real>) return &convert<From, To>;
    else return &convert_through<From, Real, To>;
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint32_t>) {
    return &convert_through<From, int64_t, To>;
  } else if constexpr (is_integer_v<To> && std::is_unsigned_v<To>) {
    return choose<From, std::make_signed_t<To>>();
  } else if constexpr (is_integer_v<From> && std::is_unsigned_v<From> &&
                       (to_bool || (is_integer_v<To> && sizeof(To) < sizeof(From)))) {
    return choose<std::make_signed_t<From>, To>();  // only bits count
  } else if constexpr (std::is_same_v<From, uint16_t> && !std::is_same_v<To, int32_t>) {
    return &convert_through<From, int32_t, To>;
  } else {
    return &convert<From, To>;
  }
}

template <class From>
constexpr Converter row_of_table[kDTypeCount] = {
#define X(name, type, legacy) choose<From, type>(),
    MT_FORALL_DTYPES(X)
#undef X
};

constexpr const Converter* table[kDTypeCount] = {
#define X(name, type, legacy) row_of_table<type>,
    MT_FORALL_DTYPES(X)
#undef X
};

}  // namespace

[[gnu::hot]] Converter converter(DType from, DType to) { return table[int(from)][int(to)]; }

namespace {

template <class U>
struct Repeat {
  [[gnu::always_inline]] static inline void run(U* out, U value, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = value;
  }
};

}  // namespace

[[gnu::hot]] void repeat(const char* element, size_t itemsize, char* target, int64_t n) {
  constexpr int64_t short_run = 64;
  const auto write = [&](auto tag) {
    using U = decltype(tag);
    U value;
    std::memcpy(&value, element, sizeof(U));
    U* out = reinterpret_cast<U*>(target);
    if (n < short_run) Repeat<U>::run(out, value, n);
    else at_level<Repeat<U>, U*, U, int64_t>(out, value, n);
  };
  switch (itemsize) {
    case 1: std::memset(target, static_cast<unsigned char>(*element), size_t(n)); break;
    case 2: write(uint16_t{}); break;
    case 4: write(uint32_t{}); break;
    case 8: write(uint64_t{}); break;
    default: write(Bytes16{}); break;
  }
}

void store_scalar(const Scalar& value, DType dtype, void* target) {
  dispatch<domains::stored>(dtype, "fill", [&](auto tag) {
    using T = typename decltype(tag)::type;
    *static_cast<T*>(target) = value.to<T>();
  });
}

void store_parameters(const Scalar* values, int count, DType dtype, void* target) {
  dispatch<domains::every>(dtype, "scalar parameter", [&](auto tag) {
    using C = compute_t<typename decltype(tag)::type>;
    for (int i = 0; i < count; ++i) static_cast<C*>(target)[i] = values[i].to<C>();
  });
}

}  // namespace mt::kernels
