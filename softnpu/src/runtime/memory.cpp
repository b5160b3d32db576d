// aclrtMalloc and its relatives: device memory, pinned host memory, and questions about pointers.
#include "runtime/memory.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/hook.h"
#include "sanitizer/sanitizer.h"

namespace softnpu {
namespace {

struct PinnedRanges {
  std::shared_mutex mutex;
  struct Range {
    uint64_t bytes;
    bool registered;  // by aclrtHostRegister: the memory is the caller's
  };
  std::map<uintptr_t, Range> ranges;
};
PinnedRanges& pinned() {
  static auto* instance = new PinnedRanges;
  return *instance;
}

uint64_t round_up(uint64_t size, uint64_t step) { return (size + step - 1) / step * step; }

// `padding` is what aclrtMalloc adds behind the 32-byte multiple, which kernels may read but not rely on.
aclError allocate(const char* function, void** address, size_t size, uint64_t padding) {
  if (address == nullptr) return fail(ACL_ERROR_INVALID_PARAM, function, ": devPtr is NULL");
  if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, function, ": size is 0, wanted at least 1");
  const int index = current_device(function);
  if (index < 0) return ACL_ERROR_RT_CONTEXT_NULL;
  DeviceMemory& memory = device(index).memory;
  void* got = size > memory.capacity() ? nullptr : memory.allocate(round_up(size, 32) + padding);
  if (got == nullptr)
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, function, ": device ", index, " is out of memory: asked for ",
                size, " bytes, in use ", memory.used(), " of ", memory.capacity(), " (SOFTNPU_MEMORY)");
  if (sanitizer::on()) [[unlikely]]
    sanitizer::allocated(function, got, size, round_up(size, 32) + padding);
  *address = got;
  return ACL_SUCCESS;
}

// Attributes (module, device, kind of address) have no meaning in software; they must be known ones.
int check_config(const char* function, const aclrtMallocConfig* config) {
  if (config == nullptr) return 0;
  if (config->attrs == nullptr && config->numAttrs != 0)
    return fail(ACL_ERROR_INVALID_PARAM, function, ": attrs is NULL, but numAttrs is ", config->numAttrs);
  for (size_t i = 0; i < config->numAttrs; ++i)
    if (config->attrs[i].attr < ACL_RT_MEM_ATTR_MODULE_ID || config->attrs[i].attr > ACL_RT_MEM_ATTR_VA_FLAG)
      return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": attribute ", i, " is of type ",
                  int(config->attrs[i].attr), ", wanted 1 to 3");
  return 0;
}

aclError allocate_host(const char* function, void** address, size_t size) {
  if (address == nullptr) return fail(ACL_ERROR_INVALID_PARAM, function, ": hostPtr is NULL");
  if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, function, ": size is 0, wanted at least 1");
  void* got = size > SIZE_MAX / 2 ? nullptr : std::aligned_alloc(64, round_up(size, 64));
  if (got == nullptr)
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, function, ": the host has no ", size, " bytes");
  std::unique_lock lock(pinned().mutex);
  pinned().ranges[uintptr_t(got)] = {size, false};
  *address = got;
  return ACL_SUCCESS;
}

int register_host(const char* function, void* address, uint64_t size) {
  if (address == nullptr || size == 0)
    return fail(ACL_ERROR_INVALID_PARAM, function, ": ptr must be set and size at least 1");
  if (is_device_address(address))
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": ", address, " is a device address");
  std::unique_lock lock(pinned().mutex);
  if (!pinned().ranges.emplace(uintptr_t(address), PinnedRanges::Range{size, true}).second)
    return fail(ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED, function, ": ", address, " is registered already");
  return ACL_SUCCESS;
}

aclError release(const char* function, void* address) {
  if (address == nullptr) return fail(ACL_ERROR_INVALID_PARAM, function, ": devPtr is NULL");
  if (sanitizer::on()) [[unlikely]]
    sanitizer::freed(function, address);
  if (!is_device_address(address) || !device(device_of(address)).memory.release(address))
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": ", address,
                " is not the start of a live device allocation (freed twice, or never allocated?)");
  return ACL_SUCCESS;
}

}  // namespace

bool is_pinned(const void* address, uint64_t bytes) {
  PinnedRanges& p = pinned();
  std::shared_lock lock(p.mutex);
  auto after = p.ranges.upper_bound(uintptr_t(address));
  if (after == p.ranges.begin()) return false;
  --after;
  const uintptr_t offset = uintptr_t(address) - after->first;
  return offset < after->second.bytes && bytes <= after->second.bytes - offset;
}

}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  SOFTNPU_ENTER(aclrtMalloc, size, policy);
  return allocate("aclrtMalloc", devPtr, size, 32);
}

SOFTNPU_EXPORT aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  SOFTNPU_ENTER(aclrtMallocAlign32, size, policy);
  return allocate("aclrtMallocAlign32", devPtr, size, 0);
}

SOFTNPU_EXPORT aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  SOFTNPU_ENTER(aclrtMallocCached, size, policy);
  return allocate("aclrtMallocCached", devPtr, size, 32);
}

SOFTNPU_EXPORT aclError aclrtFree(void* devPtr) {
  SOFTNPU_ENTER_CLEANUP(aclrtFree, devPtr);
  return release("aclrtFree", devPtr);
}

SOFTNPU_EXPORT aclError aclrtFreeWithDevSync(void* devPtr) {
  SOFTNPU_ENTER_CLEANUP(aclrtFreeWithDevSync, devPtr);
  if (is_device_address(devPtr))
    if (const int code = synchronize_device("aclrtFreeWithDevSync", device_of(devPtr), kForever)) return code;
  return release("aclrtFreeWithDevSync", devPtr);
}

SOFTNPU_EXPORT aclError aclrtMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy policy,
                                           aclrtMallocConfig* cfg) {
  SOFTNPU_ENTER(aclrtMallocWithCfg, size, policy);
  if (const int code = check_config("aclrtMallocWithCfg", cfg)) return code;
  return allocate("aclrtMallocWithCfg", devPtr, size, 32);
}

SOFTNPU_EXPORT aclError aclrtMallocHost(void** hostPtr, size_t size) {
  SOFTNPU_ENTER(aclrtMallocHost, size);
  return allocate_host("aclrtMallocHost", hostPtr, size);
}

SOFTNPU_EXPORT aclError aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig* cfg) {
  SOFTNPU_ENTER(aclrtMallocHostWithCfg, size);
  if (const int code = check_config("aclrtMallocHostWithCfg", cfg)) return code;
  return allocate_host("aclrtMallocHostWithCfg", ptr, size);
}

SOFTNPU_EXPORT aclError aclrtFreeHost(void* hostPtr) {
  SOFTNPU_ENTER_CLEANUP(aclrtFreeHost, hostPtr);
  std::unique_lock lock(pinned().mutex);
  const auto found = pinned().ranges.find(uintptr_t(hostPtr));
  if (found == pinned().ranges.end() || found->second.registered)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtFreeHost: ", hostPtr,
                " was not allocated by aclrtMallocHost, or was freed");
  const uint64_t bytes = found->second.bytes;
  pinned().ranges.erase(found);
  lock.unlock();
  if (sanitizer::on()) [[unlikely]]
    sanitizer::freed_host("aclrtFreeHost", hostPtr, bytes);
  std::free(hostPtr);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type,
                                          void** devPtr) {
  SOFTNPU_ENTER(aclrtHostRegister, ptr, size, type);
  if (devPtr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtHostRegister: devPtr is NULL");
  if (const int code = register_host("aclrtHostRegister", ptr, size)) return code;
  *devPtr = ptr;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t flag) {
  SOFTNPU_ENTER(aclrtHostRegisterV2, ptr, size, flag);
  constexpr uint32_t known =
      ACL_HOST_REG_MAPPED | ACL_HOST_REG_IOMEMORY | ACL_HOST_REG_READONLY | ACL_HOST_REG_PINNED;
  if (flag == 0 || (flag & ~known) != 0)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtHostRegisterV2: flag is ", flag,
                ", wanted a combination of ACL_HOST_REG_...");
  return register_host("aclrtHostRegisterV2", ptr, size);
}

SOFTNPU_EXPORT aclError aclrtHostUnregister(void* ptr) {
  SOFTNPU_ENTER_CLEANUP(aclrtHostUnregister, ptr);
  std::unique_lock lock(pinned().mutex);
  const auto found = pinned().ranges.find(uintptr_t(ptr));
  if (found == pinned().ranges.end() || !found->second.registered)
    return fail(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, "aclrtHostUnregister: ", ptr, " is not registered");
  const uint64_t bytes = found->second.bytes;
  pinned().ranges.erase(found);
  lock.unlock();
  if (sanitizer::on()) [[unlikely]]
    sanitizer::freed_host("aclrtHostUnregister", ptr, bytes);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  SOFTNPU_ENTER(aclrtGetMemInfo, attr);
  if (free == nullptr || total == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetMemInfo: free and total must not be NULL");
  const int index = current_device("aclrtGetMemInfo");
  if (index < 0) return ACL_ERROR_RT_CONTEXT_NULL;
  const DeviceMemory& memory = device(index).memory;
  *total = memory.capacity();
  *free = memory.capacity() - memory.used();
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtMemGetAddressRange(void* ptr, void** pbase, size_t* psize) {
  SOFTNPU_ENTER(aclrtMemGetAddressRange, ptr);
  if (pbase == nullptr || psize == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemGetAddressRange: pbase and psize must not be NULL");
  uintptr_t begin, end;
  if (!find_live(ptr, &begin, &end))
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemGetAddressRange: ", ptr,
                " is not in a live device allocation");
  *pbase = reinterpret_cast<void*>(begin);
  *psize = end - begin;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
  SOFTNPU_ENTER(aclrtPointerGetAttributes, ptr);
  if (ptr == nullptr || attributes == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtPointerGetAttributes: ptr and attributes must not be NULL");
  *attributes = {};
  attributes->pageSize = 4096;
  if (is_live(ptr, 1)) {
    attributes->location = {uint32_t(device_of(ptr)), ACL_MEM_LOCATION_TYPE_DEVICE};
  } else if (is_device_address(ptr)) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtPointerGetAttributes: ", ptr,
                " is a device address, but not in a live allocation");
  } else {
    attributes->location.type =
        is_pinned(ptr, 1) ? ACL_MEM_LOCATION_TYPE_HOST : ACL_MEM_LOCATION_TYPE_UNREGISTERED;
  }
  return ACL_SUCCESS;
}
