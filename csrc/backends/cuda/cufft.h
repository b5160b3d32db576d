// cuFFT's C interface, as far as it is used, and dense transforms over it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/cuda/library_call.h"

namespace mt::cuda {

namespace fft {

using Status = int;  // 0 is success
using Handle = int;

enum Number : int { kReal16 = 2, kReal32 = 0, kReal64 = 1, kComplex32 = 6, kComplex64 = 4, kComplex128 = 5 };
enum Direction : int { kForward = -1, kInverse = 1 };

#define MT_CUFFT_FUNCTIONS(X)                                                                      \
  X(create, "cufftCreate", (Handle * made))                                                        \
  X(destroy, "cufftDestroy", (Handle plan))                                                        \
  X(set_auto_allocation, "cufftSetAutoAllocation", (Handle plan, int on))                          \
  X(set_stream, "cufftSetStream", (Handle plan, void* stream))                                     \
  X(set_work_area, "cufftSetWorkArea", (Handle plan, void* address))                               \
  X(make, "cufftXtMakePlanMany",                                                                   \
    (Handle plan, int rank, long long* sizes, long long* in_embedding, long long in_stride,        \
     long long in_distance, int in_type, long long* out_embedding, long long out_stride,           \
     long long out_distance, int out_type, long long batch, size_t* work_bytes, int compute_type)) \
  X(execute, "cufftXtExec", (Handle plan, void* in, void* out, int direction))

struct Api {
#define X(name, symbol, parameters) Status(*name) parameters = nullptr;
  MT_CUFFT_FUNCTIONS(X)
#undef X
};

const Api& api();  // opens the library; throws where it is missing

}  // namespace fft

// `batch` dense signals of one to three dimensions, one after the other. Compared as bytes.
struct TransformShape {
  std::array<int64_t, 3> sizes;  // of the real or whole complex signal
  int64_t batch;
  int32_t rank;
  int32_t in_type, out_type, compute_type;
  int32_t device;
  int32_t padding = 0;
  bool operator==(const TransformShape&) const = default;
};

// Enqueues it. `in` may be `out` for complex signals; what turns complex into real numbers destroys `in`.
void transform(const Place& place, const TransformShape& shape, void* in, void* out, fft::Direction direction,
               const char* name);

}  // namespace mt::cuda
