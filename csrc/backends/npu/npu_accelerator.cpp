// What the NPU adds to an accelerator with streams: copies and fills inside the device, its properties, its kernels.
#include "backends/npu/aclnn_call.h"
#include "backends/npu/npu_driver.h"
#include "core/dispatch.h"
#include "generated/npu/register.h"

namespace mt::npu {
namespace {

// What aclnnInplaceFillScalar takes on every chip.
bool can_be_filled(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::uint8:
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64:
    case DType::float16:
    case DType::bfloat16:
    case DType::float32: return true;
    default: return false;
  }
}

}  // namespace

NpuAccelerator& npu() {
  static auto* made = new NpuAccelerator;  // never destroyed: tensors may be freed while the process ends
  return *made;
}

DeviceProperties NpuAccelerator::properties(int device) {
  DeviceProperties found;
  found.total_memory = memory_info(device).total;
  found.name = acl().aclrtGetSocName();
  int64_t cores = 0;
  if (acl().aclrtGetDeviceInfo &&
      acl().aclrtGetDeviceInfo(uint32_t(device), ACL_DEV_ATTR_CUBE_CORE_NUM, &cores) == 0)
    found.processors = int(cores);
  return found;
}

void NpuAccelerator::copy_on_device(const Tensor& from, const Tensor& to) {
  MT_ACLNN(aclnnInplaceCopy);
  aclnn::call(f, to.device(), to, from);
}

bool NpuAccelerator::fill(const Tensor& to, const Scalar& value) {
  if (!can_be_filled(to.dtype())) return false;
  MT_ACLNN(aclnnInplaceFillScalar);
  aclnn::call(f, to.device(), to, value);
  return true;
}

bool NpuAccelerator::takes_lists(DType dtype) const {
  return dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16;
}

void register_npu_backend() {
  register_npu_kernels();
  register_accelerator(kSlot, "npu", npu());
}

}  // namespace mt::npu
