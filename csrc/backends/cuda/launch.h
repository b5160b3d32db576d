// One kernel on the current stream of a device.
#pragma once

#include "backends/cuda/compiler.h"
#include "backends/cuda/cuda_driver.h"

namespace mt::cuda {

struct Shape {
  unsigned x = 1, y = 1, z = 1;
};

// `name` is what traces show and lives for ever; `parameter` is the kernel's only one, which is copied.
void launch(Function function, const char* name, int device, Shape grid, Shape block, unsigned shared_bytes,
            const void* parameter, size_t parameter_bytes);

// The same on a given stream; what is kept back (listed.h) stays that.
void launch_on(void* stream, Function function, const char* name, int device, Shape grid, Shape block,
               unsigned shared_bytes, const void* parameter, size_t parameter_bytes);

template <class Call>
void launch_with(Function function, const char* name, int device, Shape grid, Shape block,
                 unsigned shared_bytes, const Call& call) {
  launch(function, name, device, grid, block, shared_bytes, &call, sizeof call);
}

// Before anything else is handed to the driver, or an address to others: what this thread keeps back (listed.h) and what
// any thread has queued for the device (launch_queue.h) goes first.
void hand_over_launches(int device);

// How a dtype is spelled in the text of a kernel, and the type that it computes in.
const char* type_text(DType dtype);
DType compute_dtype(DType dtype);  // float for halves and narrower ones

}  // namespace mt::cuda
