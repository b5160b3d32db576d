// Operators that change a tensor's window itself: sizes, strides, offset, or the storage it looks at. They touch no
// elements, so one function serves every device.
#include "generated/ops/any_device/view.h"

#include "autograd/node.h"
#include "core/determinism.h"
#include "core/views.h"
#include "generated/ops/copy.h"
#include "infer/infer.h"
#include "ops/new_memory.h"

namespace mt::any_device {
namespace {

void set_geometry(const Tensor& self, IntList sizes, IntList strides, int64_t offset) {
  TensorImpl* impl = self.impl();
  const Dims size(sizes), stride(strides);  // they may lie in what set_ndim gives back
  impl->set_ndim(size.size());
  std::copy(size.begin(), size.end(), impl->sizes());
  std::copy(stride.begin(), stride.end(), impl->strides());
  impl->offset = offset;
  impl->refresh();
}

void take_geometry(const Tensor& self, const Tensor& window) {
  set_geometry(self, window.sizes(), window.strides(), window.offset());
}

}  // namespace

void resize(const Tensor& self, IntList size, std::optional<MemoryFormat> format) {
  MT_CHECK(format != MemoryFormat::preserve, "Unsupported memory format Preserve");
  checked_numel(size);
  if (std::ranges::equal(self.sizes(), size) && (!format || self.is_contiguous(*format))) return;
  const Dims strides = infer::strides_for(size, format.value_or(MemoryFormat::contiguous));
  const size_t needed = (size_t(self.offset()) + size_t(checked_numel(size))) * self.itemsize();
  if (const size_t before = self.storage().nbytes; needed > before) {
    resize_storage(self.storage(), needed);
    if (fills_new_memory() && !self.device().is_meta()) [[unlikely]] {
      const auto old = int64_t(before / self.itemsize()), one = int64_t(1);
      const int64_t grown = int64_t(needed / self.itemsize()) - old;
      fill_new_memory(
          tensor_over(self.storage_ref(), self.dtype(), IntList(&grown, 1), IntList(&one, 1), old));
    }
  }
  set_geometry(self, size, strides, self.offset());
  self.bump_version();
}

void resize_as(const Tensor& self, const Tensor& the_template, std::optional<MemoryFormat> format) {
  const Dims size(the_template.sizes());
  if (format != MemoryFormat::preserve) return resize(self, size, format);
  resize(self, size, std::nullopt);
  if (the_template.is_contiguous()) return;
  const auto last = size.size() == 5 ? MemoryFormat::channels_last_3d : MemoryFormat::channels_last;
  if (the_template.is_contiguous(last)) resize(self, size, last);
}

void set_window(const Tensor& self, const Tensor& source) {
  MT_CHECK(self.dtype() == source.dtype(), "Could not set tensor of type ", info(source.dtype()).legacy,
           " to a tensor of type ", info(self.dtype()).legacy);
  MT_CHECK(self.device() == source.device(), "Attempted to set the storage of a tensor on device \"",
           to_string(self.device()), "\" to a storage on different device \"", to_string(source.device()),
           "\".  This is no longer allowed; the devices must match.");
  if (self.same(source)) return;
  TensorImpl* impl = self.impl();
  impl->storage = source.storage_ref();
  impl->own_version = source.impl()->own_version;
  impl->version = source.impl()->version;
  set_geometry(self, source.sizes(), source.strides(), source.offset());
  autograd::forget_accumulator(self);
}

void squeeze_window(const Tensor& self) { take_geometry(self, views::squeeze(self)); }
void squeeze_window(const Tensor& self, int64_t dim) { take_geometry(self, views::squeeze(self, dim)); }
void squeeze_window(const Tensor& self, IntList dim) { take_geometry(self, views::squeeze(self, dim)); }
void unsqueeze_window(const Tensor& self, int64_t dim) { take_geometry(self, views::unsqueeze(self, dim)); }
void transpose_window(const Tensor& self, int64_t dim0, int64_t dim1) {
  take_geometry(self, views::transpose(self, dim0, dim1));
}
void t_window(const Tensor& self) { take_geometry(self, views::t(self)); }
void as_strided_window(const Tensor& self, IntList size, IntList stride, std::optional<int64_t> offset) {
  take_geometry(self, views::as_strided(self, size, stride, offset));
}

void select_backward(const Tensor& grad_output, IntList, int64_t dim, int64_t index, const Tensor& out) {
  copy_between(grad_output, views::select(ops::zero_(out), dim, index), false);
}

void slice_backward(const Tensor& grad_output, IntList, int64_t dim, int64_t start, int64_t end, int64_t step,
                    const Tensor& out) {
  copy_between(grad_output, views::slice(ops::zero_(out), dim, start, end, step), false);
}

void diagonal_backward(const Tensor& grad_output, IntList, int64_t offset, int64_t dim1, int64_t dim2,
                       const Tensor& out) {
  copy_between(grad_output, views::diagonal(ops::zero_(out), offset, dim1, dim2), false);
}

}  // namespace mt::any_device
