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

// The level in use. A build for work has the loops of one level, MT_LEVEL, that of the machine it was made on: where compilers
// see a constant they drop the others. Elsewhere MINDTORCH_CPU_LEVEL=0 or 1 lowers it (to compare levels).
#if defined(MT_LEVEL)
inline constexpr int cpu_level = MT_LEVEL;
constexpr int level_or_only(int) { return cpu_level; }
#else
extern const int cpu_level;
constexpr int level_or_only(int level) { return level; }
#endif

// Raises where a build for work has not the level that this machine has or that was asked for.
void check_level();

}  // namespace mt::kernels
