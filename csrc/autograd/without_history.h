// Computing without keeping history, for kernels that are made of operators.
#pragma once

#include "core/thread_state.h"

namespace mt::autograd {

// What is computed while it lives is the operator's own business: no history is kept of it.
class WithoutHistory {
 public:
  WithoutHistory() : was_(thread_state().grad_enabled) { thread_state().grad_enabled = false; }
  ~WithoutHistory() { thread_state().grad_enabled = was_; }
  WithoutHistory(const WithoutHistory&) = delete;
  WithoutHistory& operator=(const WithoutHistory&) = delete;

 private:
  bool was_;
};

}  // namespace mt::autograd
