// The NPU backend: registers its kernels, storage, copies, streams and generator. Touches no driver.
#pragma once

#include "core/storage.h"

namespace mt::npu {

void register_npu_backend();
// The memory is used by work on `stream`: when its last tensor is gone, it is not reused before that work is done.
void record_stream(Storage& storage, void* stream);

}  // namespace mt::npu
