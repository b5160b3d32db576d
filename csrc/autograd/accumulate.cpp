#include "autograd/accumulate.h"

#include "generated/ops/binary.h"
#include "generated/ops/copy.h"
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

bool sole_owner(const Tensor& t) {
  return t.impl()->refs.load(std::memory_order_acquire) == 1 && !t.is_view() &&
         t.storage().refs.load(std::memory_order_acquire) == 1;
}

// `grad` itself, if nobody else holds it or its memory and it has the leaf's layout; else undefined. A formula may have
// made it by turning what it computed: then that tensor is the view's alone, and the view becomes one without a base.
Tensor taken_over(Tensor& grad, const Tensor& leaf) {
  if (grad_mode() || grad.is_contiguous() != leaf.is_contiguous()) return Tensor();
  if (sole_owner(grad)) return std::move(grad);
  const TensorImpl* impl = grad.impl();
  const bool owns_base = impl->base && impl->refs.load(std::memory_order_acquire) == 1 &&
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
  Tensor& grad = leaf_state(leaf).grad;
  if (grad.defined()) {
    if (grad_mode()) grad = ops::add(grad, grads[0]);
    else ops::add_(grad, grads[0]);
  } else if (Tensor taken = taken_over(grads[0], leaf); taken.defined()) {
    grad = std::move(taken);
  } else {
    grad =
        ops::clone(grads[0], leaf.is_contiguous() ? std::optional(MemoryFormat::contiguous) : std::nullopt);
  }
}

void accumulate(Tensor& into, Tensor&& grad) {
  if (!grad.defined()) return;
  if (!into.defined()) into = std::move(grad);
  else if (!grad_mode() && sole_owner(into) && into.dtype() == grad.dtype()) ops::add_(into, grad);
  else into = ops::add(into, grad);
}

}  // namespace mt::autograd
