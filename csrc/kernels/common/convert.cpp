#include "kernels/common/convert.h"

#include <algorithm>
#include <cstring>
#if defined(__aarch64__)
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
#pragma GCC ivdep
#pragma GCC unroll 4
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
#if defined(__aarch64__)
// The compiler does not find these instructions by itself.
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
      if (cpu_level == 2) return halves::Widest::convert(in, out, n);
      if (cpu_level == 1) return halves::Wide::convert(in, out, n);
#endif
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

template <class U>
struct RepeatEach {
  [[gnu::always_inline]] static inline void run(const U* in, int64_t n, int64_t times, U* out) {
    constexpr int64_t lanes = kRoomBehindRepeated / int64_t(sizeof(U));
    for (int64_t i = 0; i < n; ++i, out += times) {
      for (int64_t j = 0; j < times; j += lanes)
        for (int64_t k = 0; k < lanes; ++k) out[j + k] = in[i];
    }
  }
};

// Calls f with a number of the unsigned type, or the pair of them, that is as wide as an element.
template <class F>
void by_size(size_t itemsize, F&& f) {
  switch (itemsize) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    case 8: return f(uint64_t{});
    default: return f(Bytes16{});
  }
}

}  // namespace

[[gnu::hot]] void repeat(const char* element, size_t itemsize, char* target, int64_t n) {
  constexpr int64_t short_run = 64;
  if (itemsize == 1) {
    std::memset(target, static_cast<unsigned char>(*element), size_t(n));
    return;
  }
  by_size(itemsize, [&](auto value) {
    using U = decltype(value);
    std::memcpy(&value, element, sizeof(U));
    U* out = reinterpret_cast<U*>(target);
    if (n < short_run) Repeat<U>::run(out, value, n);
    else at_level<Repeat<U>, U*, U, int64_t>(out, value, n);
  });
}

void repeat_each(const char* elements, size_t itemsize, int64_t n, int64_t times, char* target) {
  by_size(itemsize, [&](auto number) {
    using U = decltype(number);
    at_level<RepeatEach<U>>(reinterpret_cast<const U*>(elements), n, times, reinterpret_cast<U*>(target));
  });
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
