// One source, several machine levels. On x86-64 a loop is compiled for the baseline (SSE2), again as MT_WIDE
// (AVX2 and FMA) and, where it pays, as MT_WIDEST (AVX-512); which one runs is decided at load time.
// Elsewhere (aarch64, where NEON is the baseline) all levels are the same code.
#pragma once

namespace mt::kernels {

#if defined(__x86_64__)
#define MT_WIDE [[gnu::target("avx2,fma,f16c,bmi,bmi2")]]
#define MT_WIDEST [[gnu::target("avx2,fma,f16c,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl")]]
inline constexpr bool kHasLevels = true;
#else
#define MT_WIDE
#define MT_WIDEST
inline constexpr bool kHasLevels = false;
#endif

inline constexpr int kLevels = 3;

// The level in use: 0 baseline, 1 wide, 2 widest. MINDTORCH_CPU_LEVEL=0 or 1 lowers it (to compare levels in
// tests).
extern const int cpu_level;

}  // namespace mt::kernels
