#include "backends/cuda/cublas_lt.h"

#include <array>
#include <cstring>
#include <mutex>
#include <utility>

#include "backends/cuda/launch_queue.h"
#include "backends/cuda/plan_cache.h"
#include "backends/cuda/vendor_library.h"
#include "base/error.h"
#include "base/per_thread.h"

namespace mt::cuda {
namespace blas {

const Api& api() {
  static const Api* filled = [] {
    auto* made = new Api;
    VendorLibrary& library = cublas_lt_library();
#define X(name, symbol_name, parameters) MT_LOOK_UP(*made, library, name, symbol_name);
    MT_CUBLAS_LT_FUNCTIONS(X)
#undef X
    return made;
  }();
  return *filled;
}

}  // namespace blas

namespace {

using blas::api;

const char* meaning(blas::Status code) {
  switch (code) {
    case 1: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case 3: return "CUBLAS_STATUS_ALLOC_FAILED";
    case 7: return "CUBLAS_STATUS_INVALID_VALUE";
    case 8: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case 11: return "CUBLAS_STATUS_MAPPING_ERROR";
    case 13: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case 14: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case 15: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "an unknown status";
  }
}

[[noreturn, gnu::cold]] void fail_blas(blas::Status code, const char* function) {
  throw DeviceError(code,
                    join_text("CUDA error: ", function, " failed with ", meaning(code), " (", code, ")"));
}

void check(blas::Status code, const char* function) {
  if (code != 0) [[unlikely]]
    fail_blas(code, function);
}

// One per device, used by all threads; lives for ever.
blas::Handle handle_of(int device) {
  static std::array<std::atomic<blas::Handle>, kMaxDevices> handles{};
  std::atomic<blas::Handle>& handle = handles.at(size_t(device));
  if (blas::Handle found = handle.load(std::memory_order_acquire)) [[likely]]
    return found;
  static std::mutex mutex;
  const std::lock_guard guard(mutex);
  if (blas::Handle found = handle.load(std::memory_order_acquire)) return found;
  blas::Handle made = nullptr;
  check(api().create(&made), "cublasLtCreate");
  handle.store(made, std::memory_order_release);
  return made;
}

// Descriptors, host memory of the library's.
template <class Handle, blas::Status (*blas::Api::*destroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Owned() {
    if (value_) (api().*destroy)(value_);
  }
  Handle get() const { return value_; }
  Handle* put() { return &value_; }

 private:
  Handle value_ = nullptr;
};
using OwnedProduct = Owned<blas::Product, &blas::Api::product_destroy>;
using OwnedLayout = Owned<blas::Layout, &blas::Api::layout_destroy>;
using OwnedPreference = Owned<blas::Preference, &blas::Api::preference_destroy>;

struct Plan {
  OwnedProduct product;
  OwnedLayout a, b, c, d;
  blas::Algorithm algorithm;
  size_t workspace = 0;
  bool possible = false;
};

int scale_type(int number) {
  return number == blas::kFloat16 || number == blas::kBfloat16 ? int(blas::kFloat32) : number;
}

template <class T>
void set(blas::Product product, blas::ProductAttribute attribute, const T& value) {
  check(api().product_set(product, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
}
template <class T>
void set(blas::Preference preference, blas::PreferenceAttribute attribute, const T& value) {
  check(api().preference_set(preference, attribute, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute");
}

OwnedLayout layout_of(const ProductShape& shape, const BlasMatrix& matrix, int64_t rows, int64_t columns) {
  OwnedLayout made;
  if (matrix.transposed) std::swap(rows, columns);
  check(api().layout_create(made.put(), shape.number, uint64_t(rows), uint64_t(columns), matrix.leading),
        "cublasLtMatrixLayoutCreate");
  if (shape.batch > 1) {
    const auto count = int32_t(shape.batch);
    check(api().layout_set(made.get(), blas::kBatchCount, &count, sizeof count),
          "cublasLtMatrixLayoutSetAttribute");
    check(api().layout_set(made.get(), blas::kBatchStride, &matrix.batch_stride, sizeof matrix.batch_stride),
          "cublasLtMatrixLayoutSetAttribute");
  }
  return made;
}

Plan make_plan(const ProductShape& shape) {
  Plan plan;
  check(api().product_create(plan.product.put(), shape.arithmetic, scale_type(shape.number)),
        "cublasLtMatmulDescCreate");
  set(plan.product.get(), blas::kTransposeA, shape.a.transposed);
  set(plan.product.get(), blas::kTransposeB, shape.b.transposed);
  if (shape.epilogue != blas::kNoEpilogue) {
    set(plan.product.get(), blas::kEpilogueKind, shape.epilogue);
    set(plan.product.get(), blas::kBiasType, shape.number);
  }
  plan.a = layout_of(shape, shape.a, shape.rows, shape.inner);
  plan.b = layout_of(shape, shape.b, shape.inner, shape.columns);
  plan.c = layout_of(shape, shape.c, shape.rows, shape.columns);
  plan.d = layout_of(shape, shape.d, shape.rows, shape.columns);

  OwnedPreference preference;
  check(api().preference_create(preference.put()), "cublasLtMatmulPreferenceCreate");
  set(preference.get(), blas::kMostWorkspace, uint64_t(StreamScratch::kBytes));
  set(preference.get(), blas::kAlignmentA, uint32_t(shape.a.alignment));
  set(preference.get(), blas::kAlignmentB, uint32_t(shape.b.alignment));
  set(preference.get(), blas::kAlignmentC, uint32_t(shape.c.alignment));
  set(preference.get(), blas::kAlignmentD, uint32_t(shape.d.alignment));
  if (!shape.reduced_sums) set(preference.get(), blas::kReductionSchemes, uint32_t(blas::kInComputeType));

  blas::Found found{};
  int count = 0;
  const blas::Status code =
      api().heuristic(handle_of(shape.device), plan.product.get(), plan.a.get(), plan.b.get(), plan.c.get(),
                      plan.d.get(), preference.get(), 1, &found, &count);
  plan.possible = code == 0 && count > 0 && found.state == 0;
  if (!plan.possible && shape.epilogue == blas::kNoEpilogue) {
    if (code != 0) fail_blas(code, "cublasLtMatmulAlgoGetHeuristic");
    fail(ErrorKind::runtime, "cuBLASLt has no algorithm for a product of ", shape.rows, "x", shape.inner,
         " and ", shape.inner, "x", shape.columns, " matrices (by columns, ", shape.batch, " of them)");
  }
  plan.algorithm = found.algorithm;
  plan.workspace = found.workspace;
  return plan;
}

// Of this thread: a call changes the pointer in its descriptor.
Plan& plan_for(const ProductShape& shape) {
  static PerThread<PlanCache<ProductShape, Plan, 4096>> kept;
  return kept->find(shape, [&] { return make_plan(shape); });
}

// The factors lie with the caller until then.
struct Multiplication {
  const Plan* plan;
  blas::Handle handle;
  ProductPointers pointers;
  alignas(16) char alpha[kFactorBytes], beta[kFactorBytes];
  void *workspace, *stream;

  Outcome operator()(const void*) const {
    if (pointers.bias)
      if (const blas::Status code = api().product_set(plan->product.get(), blas::kBiasPointer, &pointers.bias,
                                                      sizeof pointers.bias);
          code != 0)
        return {code, "cublasLtMatmulDescSetAttribute", fail_blas};
    const blas::Status code =
        api().multiply(handle, plan->product.get(), alpha, pointers.a, plan->a.get(), pointers.b,
                       plan->b.get(), beta, pointers.c, plan->c.get(), pointers.d, plan->d.get(),
                       &plan->algorithm, workspace, plan->workspace, stream);
    return {code, "cublasLtMatmul", fail_blas};
  }
};

}  // namespace

bool multiply(const Place& place, const ProductShape& shape, const ProductPointers& pointers,
              const char* name) {
  const Plan& plan = plan_for(shape);
  if (!plan.possible) return false;
  const StreamScratch workspace(place, plan.workspace);
  Multiplication call{&plan, handle_of(shape.device), pointers, {}, {}, workspace.address(), place.stream};
  std::memcpy(call.alpha, pointers.alpha, kFactorBytes);
  std::memcpy(call.beta, pointers.beta, kFactorBytes);
  enqueue_soon(place, "cublasLtMatmul", name, call);
  return true;
}

}  // namespace mt::cuda
