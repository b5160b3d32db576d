// Backward passes that are started from Python.
#pragma once

#include <functional>

namespace mt::bindings {

// Note [Nested passes]
// A hook or a Function may call backward inside a backward pass, and that one again. Each level has frames of Python's
// and of ours on the stack, and Python counts its own. So after some levels the pass runs on a thread of its own, with a
// stack and a count that are empty, while this one waits; its modes are the caller's.
void run_level(const std::function<void()>& pass);
template <class F>
void run_pass(const F& pass) {
  run_level(std::ref(pass));  // a reference, which needs no memory
}

}  // namespace mt::bindings
