#include "backends/cuda/launch.h"

#include "backends/cuda/launch_queue.h"
#include "backends/cuda/listed.h"
#include "base/error.h"
#include "core/observe_task.h"
#include "devices/launch_log.h"

namespace mt::cuda {

namespace {
constexpr unsigned kSharedUnasked = 48 << 10;  // what a block may have without more ado

struct KernelLaunch {
  Function function;
  const char* name;
  void* stream;
  Shape grid, block;
  unsigned shared_bytes;

  Outcome operator()(const void* parameter) const {
    void* parameters[] = {const_cast<void*>(parameter)};
    const Result code = cuda().launch(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                      shared_bytes, static_cast<Stream>(stream), parameters, nullptr);
    return {code, name, fail_cuda};
  }
};

}  // namespace

void launch(Function function, const char* name, int device, Shape grid, Shape block, unsigned shared_bytes,
            const void* parameter, size_t parameter_bytes) {
  launch_kept_back();
  launch_on(current_stream({kSlot, int8_t(device)}), function, name, device, grid, block, shared_bytes,
            parameter, parameter_bytes);
}

void launch_on(void* stream, Function function, const char* name, int device, Shape grid, Shape block,
               unsigned shared_bytes, const void* parameter, size_t parameter_bytes) {
  CudaAccelerator& accelerator = gpu();
  accelerator.activate(device);
  if (shared_bytes > kSharedUnasked) [[unlikely]]
    check(cuda().function_set(function, kDynamicShared, int(shared_bytes)), "cuFuncSetAttribute");
  {
    TaskScope scope({.kind = TaskKind::kernel,
                     .call = "cudaLaunchKernel",
                     .name = name,
                     .device = {kSlot, int8_t(device)},
                     .stream = stream,
                     .one_kernel = true});
    launch_queue(device).give(KernelLaunch{function, name, stream, grid, block, shared_bytes}, parameter,
                              parameter_bytes);
  }
  devices::note_launch(name, stream);
  if (accelerator.launch_blocking()) [[unlikely]]
    accelerator.synchronize_stream(device, stream);
}

void hand_over_launches(int device) {
  launch_kept_back();
  if (device >= 0) launch_queue(device).settle();
}

const char* type_text(DType dtype) {
  switch (dtype) {
#define X(name, type, legacy) \
  case DType::name: return #type;
    MT_FORALL_DTYPES(X)
#undef X
    default: fail(ErrorKind::runtime, "no such dtype");
  }
}

DType compute_dtype(DType dtype) {
  if (dtype == DType::complex32) return DType::complex64;
  if (dtype == DType::float16 || dtype == DType::bfloat16 || is_float8(dtype)) return DType::float32;
  return dtype;
}

}  // namespace mt::cuda
