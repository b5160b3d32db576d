#include "core/views.h"

namespace mt::views {
namespace {

// A window of another element type on the same storage; `offset` and `strides` count the new elements.
Tensor reinterpreted(const Tensor& self, DType dtype, IntList sizes, IntList strides, int64_t offset) {
  Tensor out = tensor_over(self.storage_ref(), dtype, sizes, strides, offset);
  if (self.impl()->own_version) [[unlikely]] {
    out.impl()->own_version = self.impl()->own_version;
    out.impl()->version = self.impl()->version;
  }
  return out;
}

}  // namespace

Tensor view_as_real(const Tensor& self) {
  MT_CHECK(is_complex(self.dtype()), "view_as_real is only supported for complex tensors");
  Dims sizes(self.sizes()), strides(self.strides());
  // An empty tensor may have any strides at all: unsigned numbers may wrap.
  for (int64_t& stride : strides) stride = int64_t(uint64_t(stride) * 2);
  sizes.push_back(2), strides.push_back(1);
  return reinterpreted(self, real_type(self.dtype()), sizes, strides, self.offset() * 2);
}

Tensor view_as_complex(const Tensor& self) {
  MT_CHECK(is_floating(self.dtype()) && real_type(complex_type(self.dtype())) == self.dtype(),
           "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar "
           "type: ",
           info(self.dtype()).legacy);
  MT_CHECK(self.dim() > 0, "Input tensor must have one or more dimensions");
  Dims sizes(self.sizes()), strides(self.strides());
  MT_CHECK(sizes.back() == 2, "Tensor must have a last dimension of size 2");
  MT_CHECK(strides.back() == 1, "Tensor must have a last dimension with stride 1");
  sizes.resize(sizes.size() - 1), strides.resize(sizes.size());
  for (int64_t& stride : strides) {
    MT_CHECK(stride % 2 == 0, "Tensor must have a stride divisible by 2 for all but last dimension");
    stride /= 2;
  }
  MT_CHECK(self.offset() % 2 == 0, "Tensor must have a storage_offset divisible by 2");
  return reinterpreted(self, complex_type(self.dtype()), sizes, strides, self.offset() / 2);
}

}  // namespace mt::views
