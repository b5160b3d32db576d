// Runs the graph backwards.
#pragma once

#include "autograd/node.h"

namespace mt::autograd {

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
  bool allow_unused = false;
};

// roots[i].backward(grads[i]): gradients end in the leaves' `.grad` (only in those of `inputs`, if given).
void backward(TensorList roots, TensorList grads, TensorList inputs, const BackwardOptions& options);
// Gradients with respect to `inputs`, undefined where unused (if allowed).
std::vector<Tensor> grad(TensorList roots, TensorList grads, TensorList inputs,
                         const BackwardOptions& options);

}  // namespace mt::autograd
