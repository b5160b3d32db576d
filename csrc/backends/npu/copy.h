// Copies between the NPU and anything else, and inside it.
#pragma once

#include "core/tensor.h"

namespace mt::npu {

// Both have the same sizes; at least one is on an NPU. Types and strides may differ.
void copy(const Tensor& from, const Tensor& to, bool non_blocking);
// The value of a one-element tensor; waits for the device.
Scalar item(const Tensor& tensor);
// The tensor itself if its elements lie in order, else a copy of which that is true, made on the device.
Tensor contiguous(const Tensor& tensor);
// Host storage in pinned memory, from which copies to the device are asynchronous.
StorageRef new_pinned_storage(size_t nbytes);

}  // namespace mt::npu
