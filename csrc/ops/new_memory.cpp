#include "ops/new_memory.h"

#include <limits>

#include "generated/ops/copy.h"

namespace mt {

void fill_new_memory(const Tensor& memory) {
  const DType dtype = memory.dtype();
  if (is_floating(dtype) || is_complex(dtype)) {
    ops::fill_(memory, std::numeric_limits<double>::quiet_NaN());
  } else if (dtype == DType::boolean) {
    ops::fill_(memory, true);
  } else if (dtype == DType::uint64) {  // its largest number has no scalar, but -1 has its bits
    ops::fill_(
        tensor_over(memory.storage_ref(), DType::int64, memory.sizes(), memory.strides(), memory.offset()),
        -1);
  } else {
    const int bits = int(itemsize(dtype)) * 8 - (info(dtype).is_signed ? 1 : 0);
    ops::fill_(memory, int64_t(~uint64_t(0) >> (64 - bits)));
  }
}

}  // namespace mt
