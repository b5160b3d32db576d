// Instructions that C++ has no words for: products of small matrices by a warp, and copies to shared memory that go on by
// themselves. tests/cuda/tensor_cores.h does the same on the host.
#pragma once

#include <cstdint>

namespace mt::cuda {

// c [16, 8] += a [16, 8 words] * b [8 words, 8]; a word is a number of TF32, or two of a half type side by side in k.
// With g = lane / 4 and t = lane % 4 a lane has
//   a: words (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4)      b: words (t, g), (t + 4, g)
//   c: (g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t + 1)
// Of a float TF32 has the sign, the exponent and the first 10 bits of the fraction; what is behind them is not looked at.
#define MT_PRODUCT(NAME, SHAPE)                                                       \
  inline void NAME(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {   \
    asm volatile("mma.sync.aligned." SHAPE                                            \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"   \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                     \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
  }
MT_PRODUCT(multiply_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")
MT_PRODUCT(multiply_half, "m16n8k16.row.col.f32.f16.f16.f32")
MT_PRODUCT(multiply_bfloat16, "m16n8k16.row.col.f32.bf16.bf16.f32")
#undef MT_PRODUCT

// 2^x; what would be below the normal numbers is 0.
inline float power_of_two(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

inline uint32_t two_halves(float low, float high) {
  uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
inline uint32_t two_bfloat16(float low, float high) {
  uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

// 16 bytes of shared memory become those at `from`, or zeros. They are there after copies_done(), for the thread that
// asked; for the others after a barrier behind it.
inline void copy_later(void* to, const void* from, bool exists) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(uint32_t(__cvta_generic_to_shared(to))), "l"(from), "r"(exists ? 16 : 0)
               : "memory");
}
inline void copies_done() { asm volatile("cp.async.wait_all;" ::: "memory"); }
// The first `numbers` of 16 bytes, and zeros behind them.
inline void copy_some_later(void* to, const float* from, int numbers) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(uint32_t(__cvta_generic_to_shared(to))), "l"(from), "r"(4 * numbers)
               : "memory");
}
// What was asked for since the last time becomes one group; waits for all groups but the last kLast.
inline void copies_begun() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kLast> void copies_done_but() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLast) : "memory");
}

// Shared memory of the size that the launch says.
inline uint32_t* launched_memory() {
  extern __shared__ uint4 launched[];
  return reinterpret_cast<uint32_t*>(launched);
}

}  // namespace mt::cuda
