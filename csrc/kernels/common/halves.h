// Half numbers in vectors of AVX-512 and AVX2: as floats and back, a vector at a time. The compiler finds these
// instructions only in part.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>

#include "base/half.h"
#include "kernels/common/cpu_features.h"

namespace mt::kernels::halves {

inline constexpr int64_t kLanes = 16;

#define MT_HALVES MT_WIDEST [[gnu::always_inline]] inline

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

// n numbers; a last vector that is not full goes under a mask.
template <class H>
MT_HALVES void widen(const H* in, float* out, int64_t n) {
  int64_t i = 0;
#pragma GCC unroll 4
  for (; i + kLanes <= n; i += kLanes)
    _mm512_storeu_ps(out + i, widened(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i)), in));
  if (i == n) return;
  const __mmask16 lanes = first_lanes(n - i);
  _mm512_mask_storeu_ps(out + i, lanes, widened(_mm256_maskz_loadu_epi16(lanes, in + i), in));
}
template <class H>
MT_HALVES void narrow(const float* in, H* out, int64_t n) {
  int64_t i = 0;
#pragma GCC unroll 4
  for (; i + kLanes <= n; i += kLanes)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), narrowed(_mm512_loadu_ps(in + i), out));
  if (i == n) return;
  const __mmask16 lanes = first_lanes(n - i);
  _mm256_mask_storeu_epi16(out + i, lanes, narrowed(_mm512_maskz_loadu_ps(lanes, in + i), out));
}

#undef MT_HALVES

// Eight as floats, in vectors of AVX2.
MT_WIDE [[gnu::always_inline]] inline __m256 widened_eight(const Half* in) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
}
MT_WIDE [[gnu::always_inline]] inline __m256 widened_eight(const BFloat16* in) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

}  // namespace mt::kernels::halves
#endif
