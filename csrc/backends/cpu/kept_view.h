// Results of reductions as kernels expect them: with every dimension of the input, size 1 where reduced.
#pragma once

#include "backends/cpu/kernel_view.h"
#include "infer/infer.h"

namespace mt::cpu {

struct KeptView {
  Dims sizes, strides;
  kernels::View view;
  KeptView(const Tensor& self, const DimList& dim, const Tensor& out)
      : sizes(size_t(self.dim())), strides(size_t(self.dim())) {
    const uint64_t mask = infer::dim_mask(dim, self.dim());
    const bool kept = out.dim() == self.dim();
    for (size_t i = 0, o = 0; i < size_t(self.dim()); ++i) {
      const bool reduced = mask >> i & 1;
      sizes[i] = reduced ? 1 : self.sizes()[i];
      strides[i] = reduced ? 0 : out.strides()[o];
      o += kept || !reduced;
    }
    view = {memory(out), sizes.data(), strides.data(), int(self.dim()), out.dtype()};
  }
};

inline void reduce_over(void (*kernel)(const kernels::View&, const kernels::View&), const Tensor& self,
                        const DimList& dim, const Tensor& out) {
  kernel(view(self), KeptView(self, dim, out).view);
}

}  // namespace mt::cpu
