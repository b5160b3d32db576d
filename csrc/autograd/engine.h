// Runs the graph backwards.
#pragma once

#include "autograd/node.h"

namespace mt::autograd {

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
  bool allow_unused = false;
};

// Whether this thread is inside a pass.
bool in_backward();

// roots[i].backward(grads[i]): gradients end in the leaves' `.grad` (only in those of `inputs`, if given).
void backward(TensorList roots, TensorList grads, TensorList inputs, const BackwardOptions& options);
// Gradients with respect to `inputs`, undefined where unused (if allowed).
std::vector<Tensor> grad(TensorList roots, TensorList grads, TensorList inputs,
                         const BackwardOptions& options);

// The node that a pass of this thread is running, null if there is none.
Node* running_node();
// A number for the pass that this thread is in, -1 outside.
int64_t running_pass();
bool running_pass_keeps_graph();  // true outside of passes
// Whether the pass of this thread runs a node; grad() does not run those of the leaves it is asked for.
bool will_run(const Node& node);
bool runs_everything();    // false inside a pass whose inputs are given
uint64_t next_sequence();  // of the node that is made next
// What the pass of this thread runs from now on, in order; the node that is running comes first.
std::vector<Node*> nodes_to_run();
// Whether the pass of this thread reaches a node.
bool comes_by(const Node& node);
// Calls `callback` when the pass that this thread is in is done.
void at_end_of_pass(std::function<void()> callback);

}  // namespace mt::autograd
