// Products by the four warps of a group, as chips of sm_90 have them (compiled for sm_90a): the left operand is in
// registers, the right one in shared memory, and they go on by themselves. tests/cuda/warpgroup_products.h does the
// same on the host.
#pragma once

#include <attention_instructions.h>

namespace mt::cuda {

// Shared memory of the size that the launch says, at a place where wide_operand() may be.
inline uint32_t* launched_wide_memory() {
  extern __shared__ __align__(1024) uint4 launched_wide[];
  return reinterpret_cast<uint32_t*>(launched_wide);
}

// A right operand in shared memory, at a multiple of 1024 bytes: 32 words of each column, of which 16 bytes p of column
// n lie at p ^ (n & 7). A product takes 8 words of each from `words` on; what is added counts 16 bytes.
inline uint64_t wide_operand(const uint32_t* room, int words) {
  constexpr uint64_t turned = uint64_t(1) << 62, eight_columns = uint64_t(1024 / 16) << 32;
  const uint32_t address = uint32_t(__cvta_generic_to_shared(room)) + 4 * words;
  return turned | eight_columns | uint64_t(1) << 16 | (address & 0x3ffff) / 16;
}

// c [64, kColumns] = a [64, 8] * b [8, kColumns] of TF32, or added to c. Each warp has 16 rows of a and c, as in
// multiply_tf32(), eight columns after the other. From wide_begins() until wide_done_but() neither may be touched.
template <int kColumns> struct WideProduct;

#define MT_MADE(n) "=f"(c[n][0]), "=f"(c[n][1]), "=f"(c[n][2]), "=f"(c[n][3])
#define MT_KEPT(n) "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3])
#define MT_ALL_64(X) X(0), X(1), X(2), X(3), X(4), X(5), X(6), X(7)
#define MT_SUMS_64                                                                             \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define MT_ALL_96(X) X(0), X(1), X(2), X(3), X(4), X(5), X(6), X(7), X(8), X(9), X(10), X(11)
#define MT_SUMS_96                                                                             \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, " \
  "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define MT_WIDE_PRODUCT(COLUMNS, LEFT, RIGHT)                                                              \
  template <> struct WideProduct<COLUMNS> {                                                                \
    using Sums = float[COLUMNS / 8][4];                                                                    \
    static void begin(Sums& c, const uint32_t (&a)[4], uint64_t b) {                                       \
      asm volatile("{ .reg .pred adds; setp.ne.b32 adds, 0, 0; wgmma.mma_async.sync.aligned.m64n" #COLUMNS \
                   "k8.f32.tf32.tf32 {" MT_SUMS_##COLUMNS "}, {" LEFT "}, " RIGHT ", adds, 1, 1; }"        \
                   : MT_ALL_##COLUMNS(MT_MADE)                                                             \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                  \
    }                                                                                                      \
    static void add(Sums& c, const uint32_t (&a)[4], uint64_t b) {                                         \
      asm volatile("{ .reg .pred adds; setp.eq.b32 adds, 0, 0; wgmma.mma_async.sync.aligned.m64n" #COLUMNS \
                   "k8.f32.tf32.tf32 {" MT_SUMS_##COLUMNS "}, {" LEFT "}, " RIGHT ", adds, 1, 1; }"        \
                   : MT_ALL_##COLUMNS(MT_KEPT)                                                             \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                  \
    }                                                                                                      \
  };
MT_WIDE_PRODUCT(64, "%32, %33, %34, %35", "%36")
MT_WIDE_PRODUCT(96, "%48, %49, %50, %51", "%52")
#undef MT_WIDE_PRODUCT
#undef MT_SUMS_96
#undef MT_SUMS_64
#undef MT_ALL_96
#undef MT_ALL_64
#undef MT_KEPT
#undef MT_MADE

// Before the first product behind something else that touched its registers; and what was begun becomes one group.
inline void wide_begins() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
inline void wide_begun() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Keeps what is done to x before what follows.
inline void stays_here(float& x) { asm volatile("" : "+f"(x)::"memory"); }

// Waits for all groups but the last kLast; `c` was made by one of those before.
template <int kLast, int N> void wide_done_but(float (&c)[N][4]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLast) : "memory");
#pragma unroll
  for (int n = 0; n < N; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) stays_here(c[n][i]);
}

// What this thread wrote to shared memory is seen by the products of others behind a barrier.
inline void wide_operands_written() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// How many registers the threads of a group want, of those that the block has.
template <int kRegisters> void takes_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters> void gives_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Waits for kThreads of the block, all that come here; kNumber: 1 to 15.
template <int kNumber, int kThreads> void barrier_of() {
  asm volatile("bar.sync %0, %1;" ::"n"(kNumber), "n"(kThreads) : "memory");
}

}  // namespace mt::cuda
