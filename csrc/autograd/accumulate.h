// The end of every path: adds what arrives to a leaf's `.grad`.
#pragma once

#include "autograd/node.h"

namespace mt::autograd {

// The leaf owns its accumulator; the accumulator knows the leaf by a plain pointer that the leaf clears when
// it dies. The lock makes "is it still there, then take a reference" one step.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& variable);
  const char* name() const override { return "AccumulateGrad"; }
  void apply(Grads grads, Grads out, uint64_t wanted) override;
  void forget_variable();
  Tensor variable();  // undefined when the leaf is gone

 private:
  std::atomic_flag lock_;
  TensorImpl* variable_;
};

// Adds what arrived to the tensor's `.grad`, which lies in memory as the tensor does.
void accumulate_into_grad(const Tensor& tensor, Tensor& arrived);

// Adds `grad` to `into`, taking the buffer over where nobody else holds it.
void accumulate(Tensor& into, Tensor&& grad);

}  // namespace mt::autograd
