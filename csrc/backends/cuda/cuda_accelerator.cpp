// What GPUs add to an accelerator with streams: copies and fills inside the device, properties, kernels.
#include "backends/cuda/cuda_driver.h"
#include "backends/cuda/cupti_tracer.h"
#include "backends/cuda/elementwise.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/launch_queue.h"
#include "backends/cuda/listed.h"
#include "core/dispatch.h"
#include "generated/cuda/register.h"

namespace mt::cuda {
namespace {

constexpr Functor kCopy{"copy_op", "mt::cuda::", 0, kernels::domains::stored};

}  // namespace

CudaAccelerator& gpu() {
  static auto* made = new CudaAccelerator;  // never destroyed: tensors may be freed while the process ends
  return *made;
}

DeviceProperties CudaAccelerator::properties(int device) {
  return {cuda::driver().name(device), cuda::driver().total_memory(device),
          cuda::driver().attribute(device, kProcessors)};
}

void CudaAccelerator::copy_on_device(const Tensor& from, const Tensor& to) {
  static Variants variants;
  // Of two types the one that both can be: nothing is rounded twice.
  const bool narrows = itemsize(from.dtype()) > itemsize(to.dtype()) || is_complex(from.dtype());
  run_elementwise(kCopy, variants, "copy", narrows ? from.dtype() : to.dtype(), to, {from}, nullptr);
}

bool CudaAccelerator::fill(const Tensor& to, const Scalar& value) {
  static Variants variants;
  run_elementwise(kCopy, variants, "fill", to.dtype(), to, {value}, nullptr);
  return true;
}

void CudaAccelerator::list_begins() { kept_back().begin(); }
void CudaAccelerator::list_ends() { kept_back().end(); }

void CudaAccelerator::hand_over(int device) { hand_over_launches(device); }
void CudaAccelerator::share() {
  launch_kept_back();
  turn_off_launch_queues();
}

void register_cuda_backend() {
  register_cuda_kernels();
  register_accelerator(kSlot, "cuda", gpu());
  set_task_tracer(kSlot, &cupti::tracer());
}

}  // namespace mt::cuda
