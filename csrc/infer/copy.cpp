#include "generated/infer/copy.h"

namespace mt::infer {

void fill_with(const Tensor& self, const Scalar& value) { check_fits(self, value); }
void fill_with(const Tensor& self, const Tensor& value) {
  MT_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", value.dim(),
           " dimensions.");
  check_written_once(self);
}

void copy_into(const Tensor& self, const Tensor& src, bool) {
  check_written_once(self);
  check_no_partial_overlap(self, src);
  const Dims sizes = broadcast(self.sizes(), src.sizes());
  MT_CHECK(std::ranges::equal(self.sizes(), sizes), "The size of tensor a (", to_string(self.sizes()),
           ") must match the size of tensor b (", to_string(src.sizes()),
           "): the source of copy_ does not broadcast to it");
}

namespace {

void prepare_copy(const Tensor& self, DType dtype, Device device, MemoryFormat format, Output& out) {
  if (format == MemoryFormat::preserve) return out.prepare_like(self, dtype, device);
  if (format == MemoryFormat::contiguous) return out.prepare(self.sizes(), dtype, device);
  const Tensor pattern = tensor_over(new_storage({DeviceType::meta}, 0), dtype, self.sizes(),
                                     strides_for(self.sizes(), format), 0);
  out.prepare_like(pattern, dtype, device);
}

}  // namespace

void clone(const Tensor& self, std::optional<MemoryFormat> format, Output& out) {
  prepare_copy(self, self.dtype(), self.device(), format.value_or(MemoryFormat::preserve), out);
}

void to_copy(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device, bool,
             std::optional<MemoryFormat> format, Output& out) {
  prepare_copy(self, dtype.value_or(self.dtype()), device ? resolve_device(*device) : self.device(),
               format.value_or(MemoryFormat::preserve), out);
}

}  // namespace mt::infer
