// Python stacks as numbers: cheap to take, looked up when they are shown.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

namespace mt::bindings {

// A number for the calling thread's stack, the same for the same stack; 0 when the thread runs no Python.
uint32_t python_stack_id() noexcept;
// Tuples (file, line, function), the innermost first.
nanobind::list python_stack(uint32_t id);

}  // namespace mt::bindings
