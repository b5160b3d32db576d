// Conversions, and choosing between values, in terms of other operators.
#include "generated/ops/composites/copy.h"

#include "generated/ops/copy.h"
#include "generated/ops/index.h"
#include "generated/ops/view.h"
#include "infer/infer.h"

namespace mt::composites {
namespace {

// A number as a 0-dim tensor beside `like`; a fill on the device, so nothing waits.
Tensor number_beside(const Scalar& value, const Tensor& like) {
  Tensor t = new_tensor({}, infer::result_type(like, value), like.device());
  ops::fill_(t, value);
  t.impl()->wrapped_number = true;
  return t;
}

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

// Results of masked_fill always lie row by row.
Tensor in_order(const Tensor& t) { return t.is_contiguous() ? t : ops::clone(t, MemoryFormat::contiguous); }

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

std::vector<Tensor> nonzero_tuple(const Tensor& condition) {
  return ops::unbind(ops::nonzero(condition.dim() == 0 ? ops::unsqueeze(condition, 0) : condition), 1);
}

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  MT_CHECK(mask.dtype() == DType::boolean,
           "masked_fill_ only supports boolean masks, but got mask with dtype ", c_name(mask.dtype()));
  Tensor number = new_tensor({}, self.dtype(), self.device());
  ops::fill_(number, value);
  return in_order(ops::where(mask, number, self));
}

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value) {
  MT_CHECK(value.dim() == 0, "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
           value.dim(), " dimension(s).");
  MT_CHECK(mask.dtype() == DType::boolean,
           "masked_fill_ only supports boolean masks, but got mask with dtype ", c_name(mask.dtype()));
  const bool same = value.dtype() == self.dtype() && value.device() == self.device();
  const Tensor number = same ? value : ops::_to_copy(value, self.dtype(), self.device());
  return in_order(ops::where(mask, number, self));
}

Tensor where(const Tensor& condition, const Scalar& self, const Scalar& other) {
  auto number = [&](const Scalar& value) {
    Tensor t = new_tensor({}, value.natural_dtype(default_dtype()), condition.device());
    ops::fill_(t, value);
    t.impl()->wrapped_number = true;
    return t;
  };
  return ops::where(condition, number(self), number(other));
}

Tensor where(const Tensor& condition, const Tensor& self, const Scalar& other) {
  return ops::where(condition, self, number_beside(other, self));
}
Tensor where(const Tensor& condition, const Scalar& self, const Tensor& other) {
  return ops::where(condition, number_beside(self, other), other);
}

}  // namespace mt::composites
