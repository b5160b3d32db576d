// Conversions: copies where something changes.
#include "generated/ops/composites/copy.h"

#include "generated/ops/copy.h"

namespace mt::composites {
namespace {

// Whether strides grow as in memory that is ordered by channels: from these, which lie closest together, over the last
// dimension to the batch. Single values in a batch fit both orders, and count as row by row.
bool lies_by_channels(const Tensor& t) {
  const size_t dims = size_t(t.dim());
  if ((dims != 4 && dims != 5) || t.strides()[1] == 0) return false;
  int64_t extent = 0;  // of what lies further inside
  for (size_t i = 0; i < dims; ++i) {
    const size_t d = i == 0 ? 1 : i == dims - 1 ? 0 : dims - i;
    const int64_t size = t.sizes()[d], stride = t.strides()[d];
    if (size == 0 || stride < extent || (d == 0 && extent == t.strides()[1])) return false;
    extent = size * stride;
  }
  return true;
}

bool has_format(const Tensor& t, MemoryFormat format) {
  if (format == MemoryFormat::preserve) return true;
  if (!lies_by_channels(t)) return format == MemoryFormat::contiguous;
  return format == (t.dim() == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d);
}

}  // namespace

Tensor to(const Tensor& self, std::optional<Device> device, std::optional<DType> dtype, bool non_blocking,
          bool copy, std::optional<MemoryFormat> memory_format) {
  if (device && *device != self.device() && device->index < 0) device = resolve_device(*device);
  const bool same = (!device || *device == self.device()) && (!dtype || *dtype == self.dtype()) &&
                    (!memory_format || has_format(self, *memory_format));
  return same && !copy ? self : ops::_to_copy(self, dtype, device, non_blocking, memory_format);
}
Tensor to(const Tensor& self, DType dtype, bool non_blocking, bool copy,
          std::optional<MemoryFormat> memory_format) {
  return to(self, std::nullopt, dtype, non_blocking, copy, memory_format);
}
Tensor to(const Tensor& self, const Tensor& tensor, bool non_blocking, bool copy,
          std::optional<MemoryFormat> memory_format) {
  return to(self, tensor.device(), tensor.dtype(), non_blocking, copy, memory_format);
}
Tensor type_as(const Tensor& self, const Tensor& other) { return ops::to(self, other); }

}  // namespace mt::composites
