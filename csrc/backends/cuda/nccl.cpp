#include "backends/cuda/nccl.h"

#include "backends/cuda/vendor_library.h"
#include "base/error.h"

namespace mt::cuda::nccl {

const Api& api() {
  static const Api* filled = [] {
    auto* made = new Api;
    VendorLibrary& library = nccl_library();
#define X(name, symbol_name, parameters) MT_LOOK_UP(*made, library, name, symbol_name);
    MT_NCCL_FUNCTIONS(X)
#undef X
    MT_LOOK_UP(*made, library, error_text, "ncclGetErrorString");
    MT_LOOK_UP(*made, library, last_error, "ncclGetLastError");
    return made;
  }();
  return *filled;
}

void fail_nccl(Status code, const char* function, Communicator communicator) {
  const char* last = api().last_error(communicator);
  throw DeviceError(code, join_text("NCCL error: ", api().error_text(code), " (", function, " gave ", code,
                                    ")", last && *last ? join_text(": ", last) : std::string()));
}

}  // namespace mt::cuda::nccl
