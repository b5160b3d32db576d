// The end of every path: adds what arrives to a leaf's `.grad`.
#pragma once

#include "autograd/node.h"

namespace mt::autograd {

// The leaf owns its accumulator; the accumulator knows the leaf by a plain pointer that the leaf clears when
// it dies. The lock makes "is it still there, then take a reference" one step.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& variable);
  const char* name() const override { return "torch::autograd::AccumulateGrad"; }
  void apply(Grads grads, Grads out, uint64_t wanted) override;
  void forget_variable();
  void poison();      // the leaf was exchanged for another: gradients that arrive here have nowhere to go
  Tensor variable();  // undefined when the leaf is gone

 private:
  std::atomic_flag lock_;
  TensorImpl* variable_;
  std::atomic<bool> poisoned_{false};
};

// Adds what arrived to the tensor's `.grad`, which lies in memory as the tensor does.
// It is taken over if it has so many owners.
void accumulate_into_grad(const Tensor& tensor, Tensor& arrived, uint32_t owners = 1);

// Adds `grad` to `into`, writing there where nobody else holds it.
void add_to(Tensor& into, const Tensor& grad);
inline void accumulate(Tensor& into, Tensor&& grad) {
  if (!into.defined()) into = std::move(grad);
  else if (grad.defined()) add_to(into, grad);
}

}  // namespace mt::autograd
