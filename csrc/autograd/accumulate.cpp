#include "autograd/accumulate.h"

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
bool sole_owner(const Tensor& t) {
  return !t.impl()->special && t.impl()->refs.load(std::memory_order_acquire) == 1 && !t.is_view() &&
         t.storage().refs.load(std::memory_order_acquire) == 1;
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
  if (leaf.is_contiguous() || !views::is_dense(leaf)) return ops::clone(grad, MemoryFormat::contiguous);
  Tensor out = ops::empty_strided(leaf.sizes(), leaf.strides(), {grad.dtype(), grad.device()});
  ops::copy_(out, grad, false);
  return out;
}

// `grad` itself, if nobody else holds it or its memory and it has the leaf's layout; else undefined. A formula may have
// made it by turning what it computed: then that tensor is the view's alone, and the view becomes one without a base.
Tensor taken_over(Tensor& grad, const Tensor& leaf) {
  if (grad_mode() || !lies_like(grad, leaf)) return Tensor();
  if (sole_owner(grad)) return std::move(grad);
  const TensorImpl* impl = grad.impl();
  const bool owns_base = !impl->special && impl->base && impl->refs.load(std::memory_order_acquire) == 1 &&
                         impl->base->refs.load(std::memory_order_acquire) == 1 &&
                         grad.storage().refs.load(std::memory_order_acquire) == 2 &&
                         grad.storage().nbytes == grad.nbytes();
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
  if (!grads[0].defined()) return;
  const Tensor leaf = variable();
  if (!leaf.defined() || !leaf.impl()->requires_grad) return;
  accumulate_into_grad(leaf, grads[0]);
}

void accumulate_into_grad(const Tensor& tensor, Tensor& arrived) {
  Tensor& grad = leaf_state(tensor).grad;
  if (grad.defined()) {
    if (grad_mode()) grad = ops::add(grad, arrived);
    else ops::add_(grad, arrived);
  } else if (Tensor taken = taken_over(arrived, tensor); taken.defined()) {
    grad = std::move(taken);
  } else {
    grad = laid_like(arrived, tensor);
  }
}

void accumulate(Tensor& into, Tensor&& grad) {
  if (!grad.defined()) return;
  if (!into.defined()) into = std::move(grad);
  else if (!grad_mode() && sole_owner(into) && into.dtype() == grad.dtype()) ops::add_(into, grad);
  else into = ops::add(into, grad);
}

}  // namespace mt::autograd
