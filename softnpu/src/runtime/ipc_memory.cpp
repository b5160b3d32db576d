// Device memory of one process in another (aclrtIpcMem...).
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>

#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/hook.h"
#include "runtime/process_exports.h"

namespace softnpu {
namespace {

constexpr size_t kKeyBytes = 65;

// What this process has imported, by key.
struct Import {
  void* address;
  int device;
  uint64_t generation;  // of the device's addresses
  int count;
  Export from;
};
struct Imports {
  std::mutex mutex;
  std::map<std::string, Import> by_key;
};
Imports& imports() {
  static auto* instance = new Imports;
  return *instance;
}

Export find_export(const char* function, const char* key, int* code) {
  ExportName name;
  std::string problem = "the key is not one of aclrtIpcMemGetExportKey";
  Export found;
  if (key != nullptr && ExportName::from_text(key, &name)) found = Export::find(name, &problem);
  if (!found) *code = fail(ACL_ERROR_RT_PARAM_INVALID, function, ": ", problem);
  return found;
}

}  // namespace
}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclError aclrtIpcMemGetExportKey(void* devPtr, size_t size, char* key, size_t len,
                                                uint64_t flags) {
  SOFTNPU_ENTER(aclrtIpcMemGetExportKey, devPtr, size, len, flags);
  if (key == nullptr || len < kKeyBytes)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtIpcMemGetExportKey: key is NULL or len is ", len, ", wanted ",
                kKeyBytes);
  if (flags > ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtIpcMemGetExportKey: flags is ", flags, ", wanted 0 or 1");
  if (size == 0 || !is_live(devPtr, size))
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtIpcMemGetExportKey: ", devPtr, " + ", size,
                " bytes is not inside one live device allocation");
  const int index = device_of(devPtr);
  if (device(index).addresses.owns(devPtr))
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "aclrtIpcMemGetExportKey: ", devPtr,
                " is a mapped address; share its physical memory (aclrtMemExportToShareableHandle)");
  std::string problem;
  Export made = Export::create(&problem);
  if (!made) return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "aclrtIpcMemGetExportKey: ", problem);
  made->device = index;
  made->offset = device(index).memory.offset_of(devPtr);
  made->size = size;
  made->open_to_all = uint32_t(flags);
  std::memset(key, 0, len);
  made.name().text().copy(key, len - 1);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtIpcMemSetImportPid(const char* key, int32_t* pid, size_t num) {
  SOFTNPU_ENTER(aclrtIpcMemSetImportPid, key, num);
  if (pid == nullptr || num == 0)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtIpcMemSetImportPid: pid is NULL or num is 0");
  int code = 0;
  const Export found = find_export("aclrtIpcMemSetImportPid", key, &code);
  if (!found) return code;
  if (!found.is_own() || !found->admit(pid, num))
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtIpcMemSetImportPid: ",
                found.is_own() ? "too many processes" : "the key belongs to another process");
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtIpcMemImportByKey(void** devPtr, const char* key, uint64_t flags) {
  SOFTNPU_ENTER(aclrtIpcMemImportByKey, key, flags);
  if (devPtr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtIpcMemImportByKey: devPtr is NULL");
  if (flags > ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtIpcMemImportByKey: flags is ", flags, ", wanted 0 or 1");
  const int index = current_device("aclrtIpcMemImportByKey");
  if (index < 0) return ACL_ERROR_RT_CONTEXT_NULL;
  int code = 0;
  const Export found = find_export("aclrtIpcMemImportByKey", key, &code);
  if (!found) return code;
  if (!found->admits(getpid()))
    return fail(ACL_ERROR_RT_NO_PERMISSION, "aclrtIpcMemImportByKey: process ", getpid(),
                " was not admitted; see aclrtIpcMemSetImportPid");
  std::lock_guard lock(imports().mutex);
  if (const auto known = imports().by_key.find(key); known != imports().by_key.end()) {
    ++known->second.count;
    *devPtr = known->second.address;
    return ACL_SUCCESS;
  }
  auto memory = PhysicalMemory::borrow(found, index);
  if (memory == nullptr)
    return fail(ACL_ERROR_RT_IPC_ERROR, "aclrtIpcMemImportByKey: the memory of process ", found.name().pid,
                " cannot be opened");
  Import made{nullptr, index, 0, 1, found};
  const std::string problem =
      device(index).addresses.map_anywhere(std::move(memory), &made.address, &made.generation);
  if (!problem.empty()) return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "aclrtIpcMemImportByKey: ", problem);
  *devPtr = made.address;
  imports().by_key.emplace(key, std::move(made));
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtIpcMemClose(const char* key) {
  SOFTNPU_ENTER_CLEANUP(aclrtIpcMemClose, key);
  if (key == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtIpcMemClose: key is NULL");
  std::unique_lock lock(imports().mutex);
  if (const auto known = imports().by_key.find(key); known != imports().by_key.end()) {
    if (--known->second.count > 0) return ACL_SUCCESS;
    const Import ended = known->second;
    imports().by_key.erase(known);
    lock.unlock();
    device(ended.device).addresses.unmap_anywhere(ended.address, ended.generation);
    return ACL_SUCCESS;
  }
  lock.unlock();
  int code = 0;
  Export found = find_export("aclrtIpcMemClose", key, &code);
  if (!found) return code;
  if (!found.is_own())
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtIpcMemClose: this process has not imported the key");
  found.end();
  return ACL_SUCCESS;
}
