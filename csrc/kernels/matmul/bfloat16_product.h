// The product of two matrices of bfloat16 by instructions that multiply pairs of them: AMX, AVX512-BF16 and aarch64's BFMMLA.
#pragma once

#include <bit>
#include <cstdint>

#include "base/half.h"
#include "kernels/matmul/gemm.h"

namespace mt::kernels {

// A square of the result: c[32, 32] = the sum over `steps` blocks of 32 along k; see Note [Pairs]. Rows of pairs of b are
// `b_row` elements apart, and its second half `b_half` behind the first.
struct PairTiles {
  static constexpr int64_t kSide = 32, kHalf = 16, kDepth = 32;
  using Multiply = void (*)(const BFloat16* a, int64_t a_half, const BFloat16* b, int64_t b_half,
                            int64_t b_row, int64_t steps, float* c);
  Multiply multiply;
  void (*begin)();  // before a thread's first square, and after its last
  void (*end)();
};

inline uint32_t pair_of(BFloat16 first, BFloat16 second) {
  return uint32_t(std::bit_cast<uint16_t>(first)) | uint32_t(std::bit_cast<uint16_t>(second)) << 16;
}

// What this processor has, or null; `portable_tiles` run on every one, for tests.
const PairTiles* pair_tiles();
extern const PairTiles portable_tiles;

// Whether pairs pay for a product of this size.
bool worth_pairing(int64_t m, int64_t n, int64_t k);

// c[m, n] = alpha * a[m, k] @ b[k, n] + beta * c, added up in float; the columns of a lie together. With beta == 0, c is
// not read.
void pair_product(const PairTiles& tiles, int64_t m, int64_t n, int64_t k, float alpha, Factor a, Factor b,
                  float beta, Result<BFloat16> c);

}  // namespace mt::kernels
