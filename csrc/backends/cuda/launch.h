// One kernel on the current stream of a device.
#pragma once

#include "backends/cuda/compiler.h"
#include "backends/cuda/cuda_driver.h"

namespace mt::cuda {

struct Shape {
  unsigned x = 1, y = 1, z = 1;
};

// `name` is what traces show and lives for ever; `arguments` are the kernel's parameters, which are copied.
void launch(Function function, const char* name, int device, Shape grid, Shape block, unsigned shared_bytes,
            void** arguments);

// The same on a given stream; what is kept back (listed.h) stays that.
void launch_on(void* stream, Function function, const char* name, int device, Shape grid, Shape block,
               unsigned shared_bytes, void** arguments);

template <class... A>
void launch_with(Function function, const char* name, int device, Shape grid, Shape block,
                 unsigned shared_bytes, const A&... arguments) {
  void* given[] = {const_cast<A*>(&arguments)...};
  launch(function, name, device, grid, block, shared_bytes, given);
}

// How a dtype is spelled in the text of a kernel, and the type that it computes in.
const char* type_text(DType dtype);
DType compute_dtype(DType dtype);  // float for halves and narrower ones

}  // namespace mt::cuda
