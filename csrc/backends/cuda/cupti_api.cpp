#include "backends/cuda/cupti_api.h"

#include "backends/cuda/vendor_library.h"
#include "base/error.h"

namespace mt::cuda::cupti {

const Api& api() {
  static const Api* filled = [] {
    auto* made = new Api;
    VendorLibrary& library = cupti_library();
#define X(name, symbol_name, parameters) MT_LOOK_UP(*made, library, name, symbol_name);
    MT_CUPTI_FUNCTIONS(X)
#undef X
    return made;
  }();
  return *filled;
}

void fail_cupti(Status code, const char* function) {
  const char* text = nullptr;
  api().result_text(code, &text);
  throw DeviceError(code,
                    join_text("CUPTI error: ", text ? text : "unknown", " (", function, " gave ", code, ")"));
}

}  // namespace mt::cuda::cupti
