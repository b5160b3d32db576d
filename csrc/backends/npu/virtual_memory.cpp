// Virtual memory of the NPU: addresses without memory, and memory put behind them.
#include "backends/npu/npu_runtime.h"
#include "base/error.h"

namespace mt::npu {

bool NpuRuntime::has_virtual_memory() {
  initialize();
  const AclApi& api = acl();
  return api.aclrtReserveMemAddress && api.aclrtReleaseMemAddress && api.aclrtMallocPhysical &&
         api.aclrtFreePhysical && api.aclrtMapMem && api.aclrtUnmapMem;
}

runtime::Address NpuRuntime::reserve_addresses(int device, size_t bytes) {
  MT_CHECK_AS(not_implemented, has_virtual_memory(), "this AscendCL has no virtual memory management");
  activate(device);
  void* address = nullptr;
  constexpr uint64_t kHugePages = 1;
  check(acl().aclrtReserveMemAddress(&address, bytes, 0, nullptr, kHugePages), "aclrtReserveMemAddress");
  return runtime::Address(address);
}

void NpuRuntime::release_addresses(int device, runtime::Address address) {
  activate(device);
  check(acl().aclrtReleaseMemAddress(reinterpret_cast<void*>(address)), "aclrtReleaseMemAddress");
}

runtime::MappingHandle NpuRuntime::map_memory(int device, runtime::Address address, size_t bytes) {
  activate(device);
  aclrtPhysicalMemProp kind{};
  kind.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  kind.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  kind.memAttr = ACL_HBM_MEM_HUGE;
  kind.location.id = uint32_t(device);
  kind.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  aclrtDrvMemHandle memory = nullptr;
  check(acl().aclrtMallocPhysical(&memory, bytes, &kind, 0), "aclrtMallocPhysical");
  const int code = acl().aclrtMapMem(reinterpret_cast<void*>(address), bytes, 0, memory, 0);
  if (code != 0) {
    acl().aclrtFreePhysical(memory);
    fail_acl(code, "aclrtMapMem");
  }
  return runtime::MappingHandle(memory);
}

void NpuRuntime::unmap_memory(int device, runtime::Address address, runtime::MappingHandle memory) {
  activate(device);
  const int unmapped = acl().aclrtUnmapMem(reinterpret_cast<void*>(address));
  const int freed = acl().aclrtFreePhysical(reinterpret_cast<void*>(memory));
  check(unmapped, "aclrtUnmapMem");
  check(freed, "aclrtFreePhysical");
}

}  // namespace mt::npu
