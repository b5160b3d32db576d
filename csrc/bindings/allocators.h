// The memory pools of Python's side, for the bindings that need them.
#pragma once

#include <nanobind/nanobind.h>

#include "runtime/pinned_pool.h"

namespace mt::bindings {

void init_allocator(nanobind::module_& parent);

// The pinned pool of `_backends.npu.allocator.get_pinned_pool()`, which the first call makes. It is never
// destroyed: tensors in pinned memory may outlive the interpreter.
runtime::PinnedPool& npu_pinned_pool();

}  // namespace mt::bindings
