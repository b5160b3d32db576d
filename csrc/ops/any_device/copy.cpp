// Copies, which always have two devices.
#include "generated/ops/any_device/copy.h"

#include <algorithm>
#include <atomic>

#include "core/views.h"
#include "core/warn.h"

namespace mt::any_device {
namespace {

// Once in a process, as PyTorch does.
void warn_of_lost_part(const Tensor& from, const Tensor& to) {
  static std::atomic<bool> told{false};
  if (!is_complex(from.dtype()) || is_complex(to.dtype()) || to.dtype() == DType::boolean ||
      told.exchange(true))
    return;
  warn("Casting complex values to real discards the imaginary part");
}

}  // namespace

void copy(const Tensor& self, const Tensor& src, bool non_blocking) {
  if (self.same(src) || self.numel() == 0) return;
  warn_of_lost_part(src, self);
  const bool same_shape = std::ranges::equal(self.sizes(), src.sizes());
  copy_between(same_shape ? src : views::expand(src, self.sizes(), true), self, non_blocking);
}

void fill_with(const Tensor& self, const Tensor& value) { copy(self, value, false); }

void clone(const Tensor& self, std::optional<MemoryFormat>, const Tensor& out) {
  copy_between(self, out, false);
}

void to_copy(const Tensor& self, std::optional<DType>, std::optional<Device>, bool non_blocking,
             std::optional<MemoryFormat>, const Tensor& out) {
  warn_of_lost_part(self, out);
  copy_between(self, out, non_blocking);
}

}  // namespace mt::any_device
