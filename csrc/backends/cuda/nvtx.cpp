#include "backends/cuda/nvtx.h"

#include "backends/cuda/vendor_library.h"

namespace mt::cuda::nvtx {

const Api& api() {
  static const Api* filled = [] {
    auto* made = new Api;
    VendorLibrary& library = nvtx_library();
#define X(name, symbol_name, result, parameters) MT_LOOK_UP(*made, library, name, symbol_name);
    MT_NVTX_FUNCTIONS(X)
#undef X
    return made;
  }();
  return *filled;
}

}  // namespace mt::cuda::nvtx
