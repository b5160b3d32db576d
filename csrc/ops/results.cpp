#include "ops/results.h"

#include <algorithm>

#include "core/intercept.h"
#include "core/views.h"
#include "generated/ops/copy.h"
#include "infer/infer.h"

namespace mt::results {

Tensor before_write(const Tensor& self, bool needs_grad) {
  return needs_grad ? ops::clone(self, std::nullopt) : self;
}

const Tensor& write_back(const Tensor& self, const Tensor& result) {
  infer::Output::inplace(self).accept(result);
  if (!self.same(result)) ops::copy_(self, result, false);
  return self;
}

void write_out(const Tensor& out, const Tensor& result) {
  if ((is_dual(out) || is_dual(result)) && taken_by_forward({&out, &result})) [[unlikely]]
    fail(ErrorKind::not_implemented,
         "Trying to use forward AD with an operator that does not support it because it is an out= function");
  const bool resized = !std::ranges::equal(out.sizes(), result.sizes());
  infer::Output::into(out).accept(result);
  if (out.same(result)) return;
  if (resized && !result.is_contiguous() &&
      views::is_dense(result)) {  // it lies in memory as the result would
    std::ranges::copy(result.strides(), out.impl()->strides());
    out.impl()->refresh();
  }
  if (!out.device().is_meta()) copy_between(result, out, false);
  out.bump_version();
}

void forget_temporary(const Tensor& made) {
  TensorImpl* impl = made.impl();
  if (!impl->base || impl->base->refs.load(std::memory_order_acquire) != 1) return;
  Ref<TensorImpl>::release(std::exchange(impl->base, nullptr));
  impl->view_making = ViewMaking::plain;
}

Tensor apart(const Tensor& written, const Tensor& read) {
  return written.impl()->storage == read.impl()->storage ? ops::clone(read, std::nullopt) : read;
}

}  // namespace mt::results
