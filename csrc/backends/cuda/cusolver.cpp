#include "backends/cuda/cusolver.h"

#include <array>

#include "backends/cuda/vendor_library.h"
#include "base/error.h"
#include "base/per_thread.h"

namespace mt::cuda::solver {
namespace {

template <class F>
void look_up_all(VendorLibrary& library, F* (&functions)[4], std::array<const char*, 4> names) {
  for (size_t i = 0; i < 4; ++i) functions[i] = reinterpret_cast<F*>(library.symbol(names[i]));
}

// Handles carry the stream, so a thread has its own; they live for ever.
template <class H>
struct Own {
  H handle = nullptr;
  void* stream = nullptr;
  bool stream_is_set = false;

  template <class Create, class SetStream>
  H on(const Place& place, Create create, SetStream set_stream) {
    if (!handle) create(&handle);
    if (!stream_is_set || stream != place.stream) {
      set_stream(handle, place.stream);
      stream = place.stream;
      stream_is_set = true;
    }
    return handle;
  }
};

#define NAMES(...) {__VA_ARGS__}

}  // namespace

const Api& api() {
  static const Api* filled = [] {
    auto* made = new Api;
    VendorLibrary& library = cusolver_library();
#define X(name, symbol_name, parameters) MT_LOOK_UP(*made, library, name, symbol_name);
    MT_CUSOLVER_FUNCTIONS(X)
#undef X
#define X(name, symbols, parameters) look_up_all(library, made->name, NAMES symbols);
    MT_CUSOLVER_TYPED_FUNCTIONS(X)
#undef X
    return made;
  }();
  return *filled;
}

const EigApi& eig_api() {
  static const EigApi* filled = [] {
    auto* made = new EigApi;
    VendorLibrary& library = cusolver_library();
#define X(name, symbol_name, parameters) MT_LOOK_UP(*made, library, name, symbol_name);
    MT_CUSOLVER_EIG_FUNCTIONS(X)
#undef X
    return made;
  }();
  return *filled;
}

const BlasApi& blas_api() {
  static const BlasApi* filled = [] {
    auto* made = new BlasApi;
    VendorLibrary& library = cublas_library();
#define X(name, symbol_name, parameters) MT_LOOK_UP(*made, library, name, symbol_name);
    MT_CUBLAS_FUNCTIONS(X)
#undef X
#define X(name, symbols, parameters) look_up_all(library, made->name, NAMES symbols);
    MT_CUBLAS_TYPED_FUNCTIONS(X)
#undef X
    return made;
  }();
  return *filled;
}

void fail_solver(Status code, const char* library, const char* function) {
  throw DeviceError(code, join_text(library, " error: ", function, " failed with status ", code));
}

Session::Session(const Place& place) {
  static PerThread<std::array<Own<Handle>, kMaxDevices>> own;
  handle =
      own->at(size_t(place.index()))
          .on(
              place, [](Handle* made) { check(api().create(made), "cusolverDnCreate"); },
              [](Handle of, void* stream) { check(api().set_stream(of, stream), "cusolverDnSetStream"); });
  static const Params shared = [] {
    Params made = nullptr;
    check(api().create_params(&made), "cusolverDnCreateParams");
    return made;
  }();
  params = shared;
}

BlasHandle blas_handle(const Place& place) {
  static PerThread<std::array<Own<BlasHandle>, kMaxDevices>> own;
  return own->at(size_t(place.index()))
      .on(
          place, [](BlasHandle* made) { check_blas(blas_api().create(made), "cublasCreate"); },
          [](BlasHandle of, void* stream) {
            check_blas(blas_api().set_stream(of, stream), "cublasSetStream");
          });
}

}  // namespace mt::cuda::solver
