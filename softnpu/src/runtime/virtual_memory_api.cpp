// The C functions about virtual memory: reserved addresses, physical memory, and mapping one onto the other.
#include <unistd.h>

#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/hook.h"
#include "runtime/process_exports.h"

namespace softnpu {
namespace {

constexpr uint64_t kHugePage = uint64_t(2) << 20, kGiantPage = uint64_t(1) << 30;

// A handle of aclrtMallocPhysical: one of the owners of the memory, besides what is mapped.
struct PhysicalHandle {
  std::shared_ptr<PhysicalMemory> memory;
  uint64_t asked;                      // bytes, before rounding up
  Export lent;                         // once exported
  std::unique_ptr<Borrowed> borrowed;  // when imported
};
using PhysicalTable = SlotTable<PhysicalHandle, 131072>;
PhysicalTable& physical_table() {
  static auto* instance = new PhysicalTable;
  return *instance;
}

// Memory that was given back while other processes had borrowed it: kept until the last of them is done.
struct Kept {
  std::unique_ptr<Borrowed> row;  // so that it names nothing else meanwhile
  std::shared_ptr<PhysicalMemory> memory;
};
struct KeptMemory {
  std::mutex mutex;
  std::vector<Kept> entries;
};
KeptMemory& kept_memory() {
  static auto* instance = new KeptMemory;
  return *instance;
}

void give_back_what_is_not_borrowed() {
  std::vector<Kept> ended;  // destroyed without the lock
  std::lock_guard lock(kept_memory().mutex);
  std::erase_if(kept_memory().entries, [&](Kept& entry) {
    if ((*entry.row)->borrowers.load() > 1) return false;
    ended.push_back(std::move(entry));
    return true;
  });
}

void end_handle(PhysicalHandle* handle) {
  if (handle->lent) {
    Kept kept{std::make_unique<Borrowed>(handle->lent), handle->memory};
    handle->lent.end();
    std::lock_guard lock(kept_memory().mutex);
    kept_memory().entries.push_back(std::move(kept));
  }
  delete handle;
  give_back_what_is_not_borrowed();
}

// 0 when the device cannot have memory of that kind.
uint64_t granularity_of(aclrtMemAttr attr) {
  switch (attr) {
    case ACL_MEM_NORMAL:
    case ACL_MEM_P2P_NORMAL: return std::max<uint64_t>(page_bytes(), 4096);
    case ACL_MEM_HUGE:
    case ACL_MEM_P2P_HUGE:
    case ACL_HBM_MEM_HUGE:
    case ACL_HBM_MEM_NORMAL: return kHugePage;  // as the runtime does, huge pages for both
    case ACL_MEM_HUGE1G:
    case ACL_MEM_P2P_HUGE1G:
    case ACL_HBM_MEM_HUGE1G: return kGiantPage;
    default: return 0;
  }
}

int check_prop(const char* function, const aclrtPhysicalMemProp* prop) {
  if (prop == nullptr) return fail(ACL_ERROR_INVALID_PARAM, function, ": prop is NULL");
  if (prop->location.type != ACL_MEM_LOCATION_TYPE_DEVICE)
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, function, ": the location's type is ",
                int(prop->location.type), "; the software NPU has physical memory of devices (1) only");
  if (prop->allocationType != ACL_MEM_ALLOCATION_TYPE_PINNED || granularity_of(prop->memAttr) == 0)
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": allocationType is ", int(prop->allocationType),
                " and memAttr ", int(prop->memAttr), ", wanted 0 (pinned) and a kind of device memory");
  return open_device(function, int(prop->location.id));
}

PhysicalHandle* find_handle(const char* function, aclrtDrvMemHandle handle, int* code) {
  PhysicalHandle* found = physical_table().find(handle);
  if (found == nullptr)
    *code = fail(ACL_ERROR_RT_PARAM_INVALID, function, ": ", handle,
                 " is no handle of physical memory, or was freed");
  return found;
}

int insert_handle(const char* function, std::unique_ptr<PhysicalHandle> made, aclrtDrvMemHandle* handle) {
  void* slot = physical_table().insert(made.get());
  if (slot == nullptr)
    return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, function, ": 131072 handles exist; free some");
  made.release();
  *handle = slot;
  return ACL_SUCCESS;
}

// The addresses that a pointer belongs to; nullptr with *code when it is not one of a reserved range.
VirtualAddresses* find_addresses(const char* function, const void* address, int* code) {
  if (is_device_address(address)) {
    VirtualAddresses& addresses = device(device_of(address)).addresses;
    if (addresses.owns(address)) return &addresses;
  }
  *code = fail(ACL_ERROR_RT_PARAM_INVALID, function, ": ", address,
               " is not an address from aclrtReserveMemAddress");
  return nullptr;
}

}  // namespace

void release_physical_handles(int device) {
  physical_table().remove_if([&](const PhysicalHandle& handle) { return handle.memory->device == device; },
                             end_handle);
}

}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop,
                                                         aclrtMemGranularityOptions option,
                                                         size_t* granularity) {
  SOFTNPU_ENTER(aclrtMemGetAllocationGranularity, option);
  if (granularity == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemGetAllocationGranularity: granularity is NULL");
  if (const int code = check_prop("aclrtMemGetAllocationGranularity", prop)) return code;
  if (option != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM && option != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemGetAllocationGranularity: option is ", int(option),
                ", wanted 0 or 1");
  *granularity = granularity_of(prop->memAttr);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size,
                                            const aclrtPhysicalMemProp* prop, uint64_t flags) {
  SOFTNPU_ENTER(aclrtMallocPhysical, size, flags);
  if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtMallocPhysical: handle is NULL");
  if (const int code = check_prop("aclrtMallocPhysical", prop)) return code;
  if (size == 0 || flags != 0)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMallocPhysical: size is ", size, " and flags ", flags,
                ", wanted at least 1 byte and flags 0");
  give_back_what_is_not_borrowed();
  const int index = int(prop->location.id);
  DeviceMemory& memory = device(index).memory;
  const uint64_t step = granularity_of(prop->memAttr);
  uint64_t offset = 0, generation = 0;
  const uint64_t bytes = size > memory.capacity() ? size : (size + step - 1) / step * step;
  if (size > memory.capacity() || !memory.allocate_physical(bytes, step, &offset, &generation))
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "aclrtMallocPhysical: device ", index,
                " is out of memory: asked for ", size, " bytes, in use ", memory.used(), " of ",
                memory.capacity(), " (SOFTNPU_MEMORY)");
  auto physical = std::make_shared<PhysicalMemory>();
  physical->device = index;
  physical->offset = offset;
  physical->size = bytes;
  physical->generation = generation;
  physical->prop = *prop;
  auto made = std::make_unique<PhysicalHandle>();
  made->memory = std::move(physical);
  made->asked = size;
  return insert_handle("aclrtMallocPhysical", std::move(made), handle);
}

// Memory that is mapped stays until it is unmapped.
SOFTNPU_EXPORT aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  SOFTNPU_ENTER_CLEANUP(aclrtFreePhysical, handle);
  PhysicalHandle* found = physical_table().remove(handle);
  if (found == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtFreePhysical: ", handle,
                " is no handle of physical memory, or was freed");
  end_handle(found);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment, void* expectPtr,
                                               uint64_t flags) {
  SOFTNPU_ENTER(aclrtReserveMemAddress, size, alignment, expectPtr, flags);
  if (virPtr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtReserveMemAddress: virPtr is NULL");
  // On a card, addresses belong to no device. Here they do: to the current one, or to the first.
  const int current = device_or_none(), index = std::max(current, 0);
  if (const int code = open_device("aclrtReserveMemAddress", index)) return code;
  if (size == 0 || alignment != 0 || flags > 1)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtReserveMemAddress: size is ", size, ", alignment ",
                alignment, " and flags ", flags,
                "; wanted at least 1 byte, alignment 0 and flags 0 or 1 (huge pages)");
  if (expectPtr != nullptr)
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "aclrtReserveMemAddress: expectPtr is ", expectPtr,
                "; the software NPU chooses the address, pass NULL");
  const uint64_t bytes = size > SIZE_MAX / 2 ? size : (size + kHugePage - 1) / kHugePage * kHugePage;
  const std::string problem = device(index).addresses.reserve(bytes, kHugePage, virPtr);
  if (problem.empty()) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "aclrtReserveMemAddress: device ", index, ": ", problem);
}

SOFTNPU_EXPORT aclError aclrtReleaseMemAddress(void* virPtr) {
  SOFTNPU_ENTER_CLEANUP(aclrtReleaseMemAddress, virPtr);
  int code = 0;
  VirtualAddresses* addresses = find_addresses("aclrtReleaseMemAddress", virPtr, &code);
  if (addresses == nullptr) return code;
  const std::string problem = addresses->release(virPtr);
  if (problem.empty()) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtReleaseMemAddress: ", virPtr, " ", problem);
}

SOFTNPU_EXPORT aclError aclrtMapMem(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                                    uint64_t flags) {
  SOFTNPU_ENTER(aclrtMapMem, virPtr, size, offset, handle, flags);
  int code = 0;
  PhysicalHandle* found = find_handle("aclrtMapMem", handle, &code);
  if (found == nullptr) return code;
  if (offset != 0 || flags != 0)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMapMem: offset is ", offset, " and flags ", flags,
                ", wanted 0 for both");
  if (size != found->asked && size != found->memory->size)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMapMem: size is ", size, ", but the handle has ",
                found->asked, " bytes; all of it must be mapped");
  VirtualAddresses* addresses = find_addresses("aclrtMapMem", virPtr, &code);
  if (addresses == nullptr) return code;
  if (device_of(virPtr) != found->memory->device)
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "aclrtMapMem: the addresses were reserved on device ",
                device_of(virPtr), ", the memory is of device ", found->memory->device,
                "; with the software NPU, set the memory's device before aclrtReserveMemAddress");
  const std::string problem = addresses->map(virPtr, found->memory);
  if (problem.empty()) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMapMem: ", virPtr, " ", problem);
}

SOFTNPU_EXPORT aclError aclrtUnmapMem(void* virPtr) {
  SOFTNPU_ENTER_CLEANUP(aclrtUnmapMem, virPtr);
  int code = 0;
  VirtualAddresses* addresses = find_addresses("aclrtUnmapMem", virPtr, &code);
  if (addresses == nullptr) return code;
  const std::string problem = addresses->unmap(virPtr);
  if (problem.empty()) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtUnmapMem: ", virPtr, " ", problem);
}

SOFTNPU_EXPORT aclError aclrtMemRetainAllocationHandle(void* virPtr, aclrtDrvMemHandle* handle) {
  SOFTNPU_ENTER(aclrtMemRetainAllocationHandle, virPtr);
  if (handle == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemRetainAllocationHandle: handle is NULL");
  int code = 0;
  VirtualAddresses* addresses = find_addresses("aclrtMemRetainAllocationHandle", virPtr, &code);
  if (addresses == nullptr) return code;
  auto made = std::make_unique<PhysicalHandle>();
  made->memory = addresses->mapped_at(virPtr);
  if (made->memory == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemRetainAllocationHandle: ", virPtr,
                " has no memory mapped");
  made->asked = made->memory->size;
  return insert_handle("aclrtMemRetainAllocationHandle", std::move(made), handle);
}

SOFTNPU_EXPORT aclError aclrtMemGetAllocationPropertiesFromHandle(aclrtDrvMemHandle handle,
                                                                  aclrtPhysicalMemProp* prop) {
  SOFTNPU_ENTER(aclrtMemGetAllocationPropertiesFromHandle, handle);
  if (prop == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemGetAllocationPropertiesFromHandle: prop is NULL");
  int code = 0;
  const PhysicalHandle* found = find_handle("aclrtMemGetAllocationPropertiesFromHandle", handle, &code);
  if (found == nullptr) return code;
  *prop = found->memory->prop;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle,
                                                        aclrtMemHandleType handleType, uint64_t flags,
                                                        uint64_t* shareableHandle) {
  SOFTNPU_ENTER(aclrtMemExportToShareableHandle, handle, handleType, flags);
  if (shareableHandle == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemExportToShareableHandle: shareableHandle is NULL");
  int code = 0;
  PhysicalHandle* found = find_handle("aclrtMemExportToShareableHandle", handle, &code);
  if (found == nullptr) return code;
  if (handleType != ACL_MEM_HANDLE_TYPE_NONE || flags > ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemExportToShareableHandle: handleType is ",
                int(handleType), " and flags ", flags, ", wanted 0 and 0 or 1");
  static std::mutex mutex;  // two threads that export the same handle: one of them succeeds
  std::lock_guard lock(mutex);
  if (found->lent || found->memory->foreign != nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemExportToShareableHandle: ", handle,
                found->lent ? " is exported already" : " was imported, so it cannot be exported");
  std::string problem;
  Export made = Export::create(&problem);
  if (!made) return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "aclrtMemExportToShareableHandle: ", problem);
  made->device = found->memory->device;
  made->offset = found->memory->offset;
  made->size = found->memory->size;
  made->open_to_all = uint32_t(flags);
  found->lent = made;
  *shareableHandle = made.name().number();
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t* pid,
                                                        size_t pidNum) {
  SOFTNPU_ENTER(aclrtMemSetPidToShareableHandle, shareableHandle, pidNum);
  if (pid == nullptr || pidNum == 0)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemSetPidToShareableHandle: pid is NULL or pidNum is 0");
  std::string problem;
  const Export found = Export::find(ExportName::from_number(shareableHandle), &problem);
  if (!found || !found.is_own())
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemSetPidToShareableHandle: ", shareableHandle,
                " is not exported by this process");
  if (!found->admit(pid, pidNum))
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemSetPidToShareableHandle: more than ",
                ExportRecord::kMostPids, " processes");
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle, int32_t deviceId,
                                                          aclrtDrvMemHandle* handle) {
  SOFTNPU_ENTER(aclrtMemImportFromShareableHandle, shareableHandle, deviceId);
  if (handle == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemImportFromShareableHandle: handle is NULL");
  if (const int code = open_device("aclrtMemImportFromShareableHandle", deviceId)) return code;
  std::string problem;
  const Export found = Export::find(ExportName::from_number(shareableHandle), &problem);
  if (!found) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemImportFromShareableHandle: ", problem);
  if (!found->admits(getpid()))
    return fail(ACL_ERROR_RT_NO_PERMISSION, "aclrtMemImportFromShareableHandle: process ", getpid(),
                " was not admitted; see aclrtMemSetPidToShareableHandle");
  auto physical = PhysicalMemory::borrow(found, deviceId);
  if (physical == nullptr)
    return fail(ACL_ERROR_RT_IPC_ERROR, "aclrtMemImportFromShareableHandle: the memory of process ",
                found.name().pid, " cannot be opened");
  physical->prop = {ACL_MEM_HANDLE_TYPE_NONE,
                    ACL_MEM_ALLOCATION_TYPE_PINNED,
                    ACL_HBM_MEM_HUGE,
                    {uint32_t(deviceId), ACL_MEM_LOCATION_TYPE_DEVICE},
                    0};
  auto made = std::make_unique<PhysicalHandle>();
  made->asked = physical->size;
  made->memory = std::move(physical);
  // Counted first, then looked at again: the lender either sees the count or has ended the row before.
  made->borrowed = std::make_unique<Borrowed>(found);
  if (!Export::find(found.name(), &problem))
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemImportFromShareableHandle: ", problem);
  return insert_handle("aclrtMemImportFromShareableHandle", std::move(made), handle);
}

SOFTNPU_EXPORT aclError aclrtDeviceGetBareTgid(int32_t* pid) {
  SOFTNPU_ENTER(aclrtDeviceGetBareTgid);
  if (pid == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtDeviceGetBareTgid: pid is NULL");
  *pid = getpid();
  return ACL_SUCCESS;
}
