// Autograd nodes in Python: tensor.grad_fn, hooks.
#pragma once

#include "autograd/accumulate.h"
#include "bindings/tensor_object.h"

namespace mt::bindings {

struct NodeHandle {
  autograd::NodeRef ref;
  autograd::Node* get() const { return static_cast<autograd::Node*>(ref.get()); }
};

PyObject* wrap_node(autograd::Node* node);
PyObject* context_of(autograd::Node* node);  // borrowed: the ctx of a Function's node, or null
// A Python callable as a hook: takes the GIL, passes the gradient, takes back a tensor or None.
autograd::GradHook python_grad_hook(PyObject* callable);
// Calls `callable` with the leaf that `node`, which owns the hook, has added to.
autograd::PostHook python_accumulated_hook(PyObject* callable, autograd::AccumulateGrad* node);

}  // namespace mt::bindings
