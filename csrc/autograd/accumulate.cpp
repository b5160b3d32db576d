#include "autograd/accumulate.h"

#include "core/intercept.h"
#include "core/sparse.h"
#include "core/views.h"
#include "generated/ops/binary.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/pointwise.h"

namespace mt::autograd {
namespace {

struct SpinGuard {
  std::atomic_flag& flag;
  explicit SpinGuard(std::atomic_flag& f) : flag(f) {
    while (flag.test_and_set(std::memory_order_acquire)) flag.wait(true, std::memory_order_relaxed);
  }
  ~SpinGuard() {
    flag.clear(std::memory_order_release);
    flag.notify_one();
  }
};

// Of a tensor that somebody else takes care of nobody knows whose memory it is.
bool sole_owner(const Tensor& t, uint32_t owners = 1) {
  return !t.impl()->special && t.impl()->refs.load(std::memory_order_acquire) == owners && !t.is_view() &&
         t.storage().refs.load(std::memory_order_acquire) == 1;
}

bool is_sparse(const Tensor& t) { return special(t) & kSparse; }

// A sparse gradient that nobody else holds is its leaf's, if its parts lie without gaps.
bool is_spare_sparse(const Tensor& t) {
  if (!is_sparse(t) || t.impl()->refs.load(std::memory_order_acquire) != 1) return false;
  const SparseParts& parts = *sparse_parts(t);
  return parts.indices.is_contiguous() && parts.values.is_contiguous();
}

// Sparse tensors are added to dense ones, not the other way around; of two the newer one's elements come first.
Tensor sum(const Tensor& old, const Tensor& arrived) {
  return is_sparse(old) ? ops::add(arrived, old) : ops::add(old, arrived);
}

// A gradient lies as its leaf does, so that optimizers walk both alike: with the leaf's strides where those are dense,
// otherwise in row-major order.
bool lies_like(const Tensor& grad, const Tensor& leaf) {
  if (grad.is_contiguous() && leaf.is_contiguous()) [[likely]]
    return true;
  if (!views::is_dense(leaf)) return grad.is_contiguous();
  for (size_t i = 0; i < size_t(leaf.dim()); ++i)
    if (leaf.sizes()[i] != 1 && grad.strides()[i] != leaf.strides()[i]) return false;
  return true;
}

Tensor laid_like(const Tensor& grad, const Tensor& leaf) {
  // Of a tensor that somebody else takes care of the copy is theirs, too.
  if (!views::is_dense(leaf) || is_sparse(grad) || (special(grad) & kHandled))
    return ops::clone(grad, MemoryFormat::contiguous);
  Tensor out = ops::new_empty_strided(grad, leaf.sizes(), leaf.strides());
  ops::copy_(out, grad, false);
  return out;
}

// `grad` itself, if nobody else holds it or its memory and it has the leaf's layout; else undefined. A formula may have
// made it by turning what it computed: then that tensor is the view's alone, and the view becomes one without a base.
Tensor taken_over(Tensor& grad, const Tensor& leaf, uint32_t owners) {
  if (grad_mode()) return Tensor();
  if (is_spare_sparse(grad)) return std::move(grad);
  if (!lies_like(grad, leaf)) return Tensor();
  if (sole_owner(grad, owners)) return std::move(grad);
  const TensorImpl* impl = grad.impl();
  const bool owns_base =
      !impl->special && impl->base && impl->refs.load(std::memory_order_acquire) == owners &&
      impl->base->refs.load(std::memory_order_acquire) == 1 &&
      grad.storage().refs.load(std::memory_order_acquire) == 2 && grad.storage().nbytes == grad.nbytes();
  return owns_base ? shallow_copy(grad) : Tensor();
}

}  // namespace

AccumulateGrad::AccumulateGrad(const Tensor& variable) : variable_(variable.impl()) {
  sequence = UINT64_MAX;  // leaves first: their gradients are ready as soon as they can be
  add_output(variable);
  runs_on(variable.device());
}

void AccumulateGrad::forget_variable() {
  SpinGuard guard(lock_);
  variable_ = nullptr;
}

void AccumulateGrad::poison() {
  poisoned_ = true;
  forget_variable();
}

Tensor AccumulateGrad::variable() {
  SpinGuard guard(lock_);
  if (!variable_) return Tensor();
  // A count of zero means the leaf is being destroyed and waits for this lock to say so.
  uint32_t count = variable_->refs.load(std::memory_order_relaxed);
  do {
    if (count == 0) return Tensor();
  } while (!variable_->refs.compare_exchange_weak(count, count + 1, std::memory_order_acquire));
  return Tensor::adopt(variable_);
}

void AccumulateGrad::apply(Grads grads, Grads, uint64_t) {
  MT_CHECK(
      !poisoned_,
      "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try "
      "to "
      "run backward on a tensor that was swapped. For a module m with "
      "`torch.__future__.set_swap_module_params_on_conversion(True)` you should not change the device or "
      "dtype "
      "of the module (e.g. `m.cpu()` or `m.half()`) between running forward and backward. To resolve this, "
      "please only change the device/dtype before running forward (or after both forward and backward).");
  if (!grads[0].defined()) return;
  const Tensor leaf = variable();
  if (!leaf.defined() || !leaf.impl()->requires_grad) return;
  // The engine holds what arrives for hooks that see it afterwards, which does not keep it from being taken.
  accumulate_into_grad(leaf, grads[0], hooks && !hooks->post.empty() ? 2 : 1);
}

void accumulate_into_grad(const Tensor& tensor, Tensor& arrived, uint32_t owners) {
  Tensor& grad = leaf_state(tensor).grad;
  if (grad.defined()) {
    if (grad_mode() || (is_sparse(grad) && !is_sparse(arrived))) grad = sum(grad, arrived);
    else ops::add_(grad, arrived);
  } else if (Tensor taken = taken_over(arrived, tensor, owners); taken.defined()) {
    grad = std::move(taken);
  } else {
    grad = laid_like(arrived, tensor);
  }
}

void add_to(Tensor& into, const Tensor& grad) {
  if (!grad_mode() && sole_owner(into) && into.dtype() == grad.dtype()) ops::add_(into, grad);
  else into = sum(into, grad);
}

}  // namespace mt::autograd
