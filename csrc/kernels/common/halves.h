// Half numbers in vectors of AVX2 and AVX-512: as floats and back. The compiler finds these instructions only in part.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "kernels/common/cpu_features.h"

namespace mt::kernels::halves {

#define MT_HALVES MT_WIDE [[gnu::always_inline]] inline

// Eight as floats.
MT_HALVES __m256 widened_eight(const Half* in) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
}
MT_HALVES __m256 widened_eight(const BFloat16* in) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

// BFloat16::from_float of eight, each in 32 bits: to the nearest, halves to even; NaN stays one.
MT_HALVES __m256i rounded_eight(const float* in) {
  const __m256 value = _mm256_loadu_ps(in);
  const __m256i word = _mm256_castps_si256(value), half = _mm256_set1_epi32(0x7fff);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(word, 16), _mm256_set1_epi32(1));
  const __m256i even = _mm256_add_epi32(_mm256_add_epi32(word, half), odd);
  const __m256i quiet = _mm256_or_si256(word, _mm256_set1_epi32(0x400000));
  const __m256i none = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  return _mm256_srli_epi32(_mm256_blendv_epi8(even, quiet, none), 16);
}

// Sixteen floats as halves.
MT_HALVES __m256i narrowed_sixteen(const float* in, const Half*) {
  constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return _mm256_set_m128i(_mm256_cvtps_ph(_mm256_loadu_ps(in + 8), nearest),
                          _mm256_cvtps_ph(_mm256_loadu_ps(in), nearest));
}
MT_HALVES __m256i narrowed_sixteen(const float* in, const BFloat16*) {
  const __m256i packed = _mm256_packus_epi32(rounded_eight(in), rounded_eight(in + 8));
  return _mm256_permute4x64_epi64(packed, _MM_SHUFFLE(3, 1, 2, 0));  // two and two of each half were packed
}

#undef MT_HALVES

// n numbers, in vectors of AVX2. What is not a full vector goes through a padded block, so that a value converts alike
// wherever it stands. Not always inlined, which only functions for the same processors can do: loops that are compiled
// for several levels are flattened.
struct Wide {
  template <class H>
  MT_WIDE static inline void convert(const H* in, float* out, int64_t n) {
    constexpr int64_t lanes = 8;
    int64_t i = 0;
#pragma GCC unroll 8
    for (; i + lanes <= n; i += lanes) _mm256_storeu_ps(out + i, widened_eight(in + i));
    if (i == n) return;
    alignas(16) H rest[lanes] = {};
    alignas(32) float widened[lanes];
    std::memcpy(static_cast<void*>(rest), in + i, size_t(n - i) * sizeof(H));
    _mm256_store_ps(widened, widened_eight(rest));
    std::memcpy(out + i, widened, size_t(n - i) * sizeof(float));
  }
  template <class H>
  MT_WIDE static inline void convert(const float* in, H* out, int64_t n) {
    constexpr int64_t lanes = 16;
    int64_t i = 0;
#pragma GCC unroll 4
    for (; i + lanes <= n; i += lanes)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), narrowed_sixteen(in + i, out));
    if (i == n) return;
    alignas(32) float rest[lanes] = {};
    alignas(32) uint16_t narrowed[lanes];
    std::memcpy(rest, in + i, size_t(n - i) * sizeof(float));
    _mm256_store_si256(reinterpret_cast<__m256i*>(narrowed), narrowed_sixteen(rest, out));
    std::memcpy(static_cast<void*>(out + i), narrowed, size_t(n - i) * sizeof(H));
  }
};

#define MT_HALVES MT_WIDEST [[gnu::always_inline]] inline

inline constexpr int64_t kLanes = 16;

// Intrinsics under a full mask are the plain instructions, without a value that compilers warn is never set.
inline constexpr __mmask16 kAll = 0xffff;
MT_HALVES __mmask16 first_lanes(int64_t n) { return __mmask16((1u << n) - 1); }
MT_HALVES __m512 widened(__m256i bits, const Half*) { return _mm512_maskz_cvtph_ps(kAll, bits); }
MT_HALVES __m512 widened(__m256i bits, const BFloat16*) {
  return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(kAll, _mm512_maskz_cvtepu16_epi32(kAll, bits), 16));
}
MT_HALVES __m256i narrowed(__m512 value, Half*) {
  return _mm512_maskz_cvtps_ph(kAll, value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// BFloat16::from_float: to the nearest, halves to even; NaN stays one.
MT_HALVES __m256i narrowed(__m512 value, BFloat16*) {
  const __m512i word = _mm512_castps_si512(value), half = _mm512_set1_epi32(0x7fff);
  const __m512i odd = _mm512_and_si512(_mm512_maskz_srli_epi32(kAll, word, 16), _mm512_set1_epi32(1));
  const __m512i even = _mm512_add_epi32(_mm512_add_epi32(word, half), odd);
  const __mmask16 none = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
  const __m512i chosen = _mm512_mask_or_epi32(even, none, word, _mm512_set1_epi32(0x400000));
  return _mm512_maskz_cvtepi32_epi16(kAll, _mm512_maskz_srli_epi32(kAll, chosen, 16));
}

#undef MT_HALVES

// The same in vectors of AVX-512; a last one that is not full goes under a mask.
struct Widest {
  template <class H>
  MT_WIDEST static inline void convert(const H* in, float* out, int64_t n) {
    int64_t i = 0;
#pragma GCC unroll 4
    for (; i + kLanes <= n; i += kLanes)
      _mm512_storeu_ps(out + i, widened(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i)), in));
    if (i == n) return;
    const __mmask16 lanes = first_lanes(n - i);
    _mm512_mask_storeu_ps(out + i, lanes, widened(_mm256_maskz_loadu_epi16(lanes, in + i), in));
  }
  template <class H>
  MT_WIDEST static inline void convert(const float* in, H* out, int64_t n) {
    int64_t i = 0;
#pragma GCC unroll 4
    for (; i + kLanes <= n; i += kLanes)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), narrowed(_mm512_loadu_ps(in + i), out));
    if (i == n) return;
    const __mmask16 lanes = first_lanes(n - i);
    _mm256_mask_storeu_epi16(out + i, lanes, narrowed(_mm512_maskz_loadu_ps(lanes, in + i), out));
  }
};

}  // namespace mt::kernels::halves
#endif
