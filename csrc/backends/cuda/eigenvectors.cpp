#include "backends/cuda/eigenvectors.h"

#include "backends/cuda/device/calls.h"
#include "backends/cuda/program.h"

namespace mt::cuda {

void unpack_eigenvectors(const Tensor& values, const Tensor& packed, const Tensor& out) {
  constexpr Family family{"eigenvectors.h", "EigenvectorsCall"};
  const int64_t size = packed.sizes().back();
  const EigenvectorsCall call{values.data(), packed.data(), out.data(), packed.numel() / (size * size), size};
  static Variants variants;
  run_over(family, variants, uint64_t(packed.dtype()), "eigenvectors", out, packed.numel(), call,
           [&] { return join_text("eigenvectors_unpacked<", type_text(packed.dtype()), ">"); });
}

}  // namespace mt::cuda
