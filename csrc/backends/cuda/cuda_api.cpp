#include "backends/cuda/cuda_api.h"

#include <atomic>
#include <mutex>

#include "backends/cuda/vendor_library.h"
#include "base/error.h"

namespace mt::cuda {
namespace {

std::atomic<const CudaApi*> g_api{nullptr};

const CudaApi& open() {
  static std::mutex mutex;
  std::lock_guard guard(mutex);
  if (const CudaApi* found = g_api.load(std::memory_order_acquire)) return *found;
  auto* api = new CudaApi;
#define X(name, symbol_name, parameters) MT_LOOK_UP(*api, driver_library(), name, symbol_name);
  MT_CUDA_FUNCTIONS(X)
#undef X
  g_api.store(api, std::memory_order_release);
  return *api;
}

const char* advice(Result code) {
  switch (code) {
    case kOutOfMemory: return "Free tensors, call torch.cuda.empty_cache(), or use smaller batches.";
    case kNoDevice: return "Check nvidia-smi, and CUDA_VISIBLE_DEVICES.";
    case 209:
      return "The kernels were compiled for another chip: remove the cache that `mindtorch info` names.";
    case 700:
    case 716:
    case 719:
      return "CUDA_LAUNCH_BLOCKING=1 shows the call that went wrong; the process has to be started again.";
    default: return "";
  }
}

}  // namespace

const CudaApi& cuda() {
  const CudaApi* found = g_api.load(std::memory_order_acquire);
  if (found) [[likely]]
    return *found;
  return open();
}

bool driver_is_there() noexcept {
  return g_api.load(std::memory_order_acquire) || driver_library().available();
}

void replace_driver(const CudaApi* api) {
  const CudaApi* none = nullptr;
  MT_CHECK(g_api.compare_exchange_strong(none, api, std::memory_order_acq_rel),
           "the CUDA driver is in use in this process already");
}

void fail_cuda(Result code, const char* function) {
  const char *name = nullptr, *text = nullptr;
  cuda().error_name(code, &name);
  cuda().error_text(code, &text);
  std::string message = join_text("CUDA error: ", text ? text : "unknown error", " (", function, " gave ",
                                  name ? name : "a number", " ", code, ")");
  if (const char* helps = advice(code); *helps) message += join_text(". ", helps);
  throw DeviceError(code, message);
}

}  // namespace mt::cuda
