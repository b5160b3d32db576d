#include "backends/npu/hccl_api.h"

#include <dlfcn.h>

#include <mutex>

#include "backends/npu/acl_api.h"
#include "base/error.h"

namespace mt::npu {
namespace {

std::mutex g_mutex;
const HcclApi* g_hccl = nullptr;  // lives as long as the process

// Loads it, or says why that cannot be done.
std::string load() {
  std::lock_guard guard(g_mutex);
  if (g_hccl) return {};
  const std::string& folder = acl().folder;
  const std::string path = folder.empty() ? "libhccl.so" : folder + "/libhccl.so";
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!library) return dlerror();
  auto api = new HcclApi;
  std::string missing;
#define X(name)                                                             \
  api->name = reinterpret_cast<decltype(api->name)>(dlsym(library, #name)); \
  if (!api->name) missing += (missing.empty() ? "" : ", ") + std::string(#name);
  MT_HCCL_REQUIRED(X)
#undef X
  if (!missing.empty()) {
    delete api;
    dlclose(library);
    return join_text(path, " lacks ", missing, "; every supported CANN has them (8.1 or newer is needed)");
  }
#define X(name) api->name = reinterpret_cast<decltype(api->name)>(dlsym(library, #name));
  MT_HCCL_OPTIONAL(X)
#undef X
  g_hccl = api;
  return {};
}

}  // namespace

std::string hccl_problem() { return load(); }

const HcclApi& hccl() {
  if (const std::string problem = load(); !problem.empty())
    fail(ErrorKind::runtime, "HCCL cannot be used: ", problem,
         ". Install CANN's collective communication library next to libascendcl.so, or choose another "
         "backend.");
  return *g_hccl;
}

void fail_hccl(HcclResult code, const char* function) {
  const char* message = acl().aclGetRecentErrMsg();
  throw DeviceError(
      int(code), join_text(function, " failed with error ", int(code), " (", hccl().HcclGetErrorString(code),
                           ")", message && *message ? join_text(": ", message) : std::string()));
}

}  // namespace mt::npu
