// Autograd nodes in Python: tensor.grad_fn, hooks.
#pragma once

#include "autograd/accumulate.h"
#include "bindings/tensor_object.h"

namespace mt::bindings {

// The object of a node in Python: one as long as somebody has it. The node of a Function has its context instead.
struct NodeHandle {
  autograd::NodeRef ref;
  explicit NodeHandle(autograd::Node* node) : ref(autograd::NodeRef::share(node)) {}
  ~NodeHandle();
  autograd::Node* get() const { return static_cast<autograd::Node*>(ref.get()); }
};

PyObject* wrap_node(autograd::Node* node);         // the context, for a Function's
PyObject* wrap_node_itself(autograd::Node* node);  // never the context
autograd::Node* node_of(PyObject* object);         // of either; raises TypeError for anything else
PyObject* context_of(autograd::Node* node);        // borrowed: the ctx of a Function's node, or null
PyObject* metadata_of(autograd::Node* node);       // borrowed: the dictionary that lives with it

// What a node keeps, in Python: grad_fn._saved_self (the value) and grad_fn._raw_saved_self (how it is kept).
// Null if nothing is shown under the name.
PyObject* saved_attribute(autograd::Node& node, std::string_view name);
PyObject* saved_names(autograd::Node& node);  // a list
PyObject* wrap_saved(autograd::Node& node, autograd::SavedTensor& saved);
// The saved_tensors_hooks that this thread is inside of, the innermost last.
using Packers = std::vector<std::shared_ptr<autograd::SavedTensorPacker>>;
Packers packers_of_thread();
void put_packers_back(Packers packers);
// Takes a hook away again, without keeping its node.
struct HookHandle {
  std::weak_ptr<autograd::NodeHooks> hooks;
  uint64_t id;
  void remove() const {
    if (const auto alive = hooks.lock()) alive->remove(id);
  }
};
PyObject* wrap_hook(autograd::Node* node, uint64_t id, PyObject* callable);
// A list of (handle, callable): hooks of one of the node's inputs, or those that run after it.
PyObject* hooks_of(autograd::Node* node, uint32_t input, bool afterwards);

// Note [Cycles through the graph]
// A hook or a context may refer to the tensor whose history it belongs to. Python's collector finds such a cycle if the
// objects in it show what they alone own: a tensor that only Python has shows what its node has of Python's, if the node
// is the tensor's alone, and the object of a node does the same.
int traverse_node(autograd::Node* node, visitproc visit, void* arg);
void clear_node(autograd::Node* node);
void track(PyObject* tensor);  // tensors are not, until something of Python's may hang on them

// A Python callable as a hook: takes the GIL, passes the gradient, takes back a tensor or None.
autograd::GradHook python_grad_hook(PyObject* callable);
// Calls `callable` with the leaf that `node`, which owns the hook, has added to.
autograd::PostHook python_accumulated_hook(PyObject* callable, autograd::AccumulateGrad* node);

}  // namespace mt::bindings
