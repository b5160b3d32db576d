// More of what C++ has no words for, for attention of halves: matrices that come from shared memory as products take them.
// tests/cuda/attention_instructions.h does the same on the host.
#pragma once

#include <tensor_cores.h>

namespace mt::cuda {

// Four matrices of 8 rows of 16 bytes. Lane i says where row i % 8 of matrix i / 8 lies; of each matrix, lane 4 g + t is given
// the two halves 2 t and 2 t + 1 of row g.
inline void read_matrices(uint32_t (&to)[4], const uint32_t* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(uint32_t(__cvta_generic_to_shared(row)))
               : "memory");
}
// The same, and lane 4 g + t is given column g of the rows 2 t and 2 t + 1.
inline void read_matrices_turned(uint32_t (&to)[4], const uint32_t* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(uint32_t(__cvta_generic_to_shared(row)))
               : "memory");
}

// One number that is copied as 16 bytes are by copy_later().
inline void copy_number_later(float* to, const float* from, bool exists) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
               :
               : "r"(uint32_t(__cvta_generic_to_shared(to))), "l"(from), "r"(exists ? 4 : 0)
               : "memory");
}

// A product that is rounded before anything is added to it.
inline float rounded_product(float x, float y) { return __fmul_rn(x, y); }

}  // namespace mt::cuda
