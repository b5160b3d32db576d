#include "backends/cuda/cufft.h"

#include <utility>

#include "backends/cuda/plan_cache.h"
#include "backends/cuda/vendor_library.h"
#include "base/error.h"
#include "base/per_thread.h"

namespace mt::cuda {
namespace fft {

const Api& api() {
  static const Api* filled = [] {
    auto* made = new Api;
    VendorLibrary& library = cufft_library();
#define X(name, symbol_name, parameters) MT_LOOK_UP(*made, library, name, symbol_name);
    MT_CUFFT_FUNCTIONS(X)
#undef X
    return made;
  }();
  return *filled;
}

}  // namespace fft

namespace {

using fft::api;

const char* meaning(fft::Status code) {
  switch (code) {
    case 1: return "CUFFT_INVALID_PLAN";
    case 2: return "CUFFT_ALLOC_FAILED";
    case 3: return "CUFFT_INVALID_TYPE";
    case 4: return "CUFFT_INVALID_VALUE";
    case 5: return "CUFFT_INTERNAL_ERROR";
    case 6: return "CUFFT_EXEC_FAILED";
    case 7: return "CUFFT_SETUP_FAILED";
    case 8: return "CUFFT_INVALID_SIZE";
    case 11: return "CUFFT_INVALID_DEVICE";
    case 13: return "CUFFT_NO_WORKSPACE";
    case 14: return "CUFFT_NOT_IMPLEMENTED";
    case 16: return "CUFFT_NOT_SUPPORTED";
    default: return "an unknown status";
  }
}

void check(fft::Status code, const char* function) {
  if (code != 0) [[unlikely]]
    throw DeviceError(code, join_text("cuFFT error: ", meaning(code), " (", function, " gave ", code, ")"));
}

class Plan {
 public:
  explicit Plan(const TransformShape& shape) {
    check(api().create(&handle_), "cufftCreate");
    made_ = true;
    check(api().set_auto_allocation(handle_, 0), "cufftSetAutoAllocation");
    long long sizes[3];
    for (int i = 0; i < shape.rank; ++i) sizes[i] = shape.sizes[size_t(i)];
    // Without an embedding signals lie densely, and strides and distances are not looked at.
    check(api().make(handle_, shape.rank, sizes, nullptr, 1, 1, shape.in_type, nullptr, 1, 1, shape.out_type,
                     shape.batch, &work_bytes_, shape.compute_type),
          "cufftXtMakePlanMany");
  }
  Plan(Plan&& other) noexcept
      : handle_(other.handle_), made_(std::exchange(other.made_, false)), work_bytes_(other.work_bytes_) {}
  ~Plan() {
    if (made_) api().destroy(handle_);
  }
  fft::Handle handle() const { return handle_; }
  size_t work_bytes() const { return work_bytes_; }

 private:
  fft::Handle handle_ = 0;
  bool made_ = false;
  size_t work_bytes_ = 0;
};

// Of this thread: a call gives its stream and its work area to the plan.
Plan& plan_for(const TransformShape& shape) {
  static PerThread<PlanCache<TransformShape, Plan, 1024>> kept;
  return kept->find(shape, [&] { return Plan(shape); });
}

}  // namespace

void transform(const Place& place, const TransformShape& shape, void* in, void* out, fft::Direction direction,
               const char* name) {
  Plan& plan = plan_for(shape);
  const Scratch work(place, plan.work_bytes());
  check(api().set_stream(plan.handle(), place.stream), "cufftSetStream");
  if (work.address()) check(api().set_work_area(plan.handle(), work.address()), "cufftSetWorkArea");
  enqueue(place, "cufftXtExec", name,
          [&] { check(api().execute(plan.handle(), in, out, direction), "cufftXtExec"); });
}

}  // namespace mt::cuda
