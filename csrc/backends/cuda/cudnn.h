// cuDNN's graph interface in C, as far as it is used, and convolutions over it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/cuda/library_call.h"

namespace mt::cuda {

namespace dnn {

using Status = int;  // 0 is success
using Handle = struct HandleOf*;
using Descriptor = void*;

enum Number : int { kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kBfloat16 = 9 };
enum Kind : int {
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kHeuristic = 4,
  kPlan = 5,
  kForward = 10,
  kBackwardFilter = 11,
  kBackwardData = 12,
  kGraph = 15,
  kPointers = 16,  // a "variant pack"
  kTensor = 17,
};
enum ValueType : int {
  kHandleValue = 0,
  kNumberValue = 1,
  kBoolValue = 2,
  kInt64Value = 3,
  kFloatValue = 4,
  kDoubleValue = 5,
  kPointerValue = 6,
  kModeValue = 7,
  kHeuristicValue = 8,
  kNoteValue = 11,
  kDescriptorValue = 15,
};
enum Attribute : int {
  kConvolutionCompute = 100,
  kConvolutionMode = 101,
  kConvolutionDilations = 102,
  kConvolutionStrides = 103,
  kConvolutionPaddingAfter = 104,
  kConvolutionPaddingBefore = 105,
  kConvolutionSpatial = 106,
  kHeuristicMode = 200,
  kHeuristicGraph = 201,
  kHeuristicResults = 202,
  kConfigEngine = 300,
  kPlanHandle = 400,
  kPlanConfig = 401,
  kPlanWorkspace = 402,
  kForwardAlpha = 700,  // alpha, beta, convolution, w, x, y
  kDataAlpha = 706,     // alpha, beta, convolution, w, dx, dy
  kFilterAlpha = 712,   // alpha, beta, convolution, dw, x, dy
  kGraphHandle = 800,
  kGraphOperations = 801,
  kTensorAlignment = 900,
  kTensorNumber = 901,
  kTensorSizes = 902,
  kTensorStrides = 903,
  kTensorId = 906,
  kPointerIds = 1000,
  kPointerAddresses = 1001,
  kPointerWorkspace = 1003,
  kEngineNotes = 1303,
};
enum HeuristicKind : int { kByNetwork = 1, kFallback = 2, kByTree = 3 };
enum Note : int { kTensorCores = 0, kDownConverts = 1, kNotDeterministic = 4 };
inline constexpr int kNotes = 64;  // more than there are
inline constexpr int kCrossCorrelation = 1;

#define MT_CUDNN_FUNCTIONS(X)                                                                       \
  X(create, "cudnnCreate", (Handle * handle))                                                       \
  X(set_stream, "cudnnSetStream", (Handle handle, void* stream))                                    \
  X(make, "cudnnBackendCreateDescriptor", (int kind, Descriptor* made))                             \
  X(destroy, "cudnnBackendDestroyDescriptor", (Descriptor descriptor))                              \
  X(set, "cudnnBackendSetAttribute",                                                                \
    (Descriptor descriptor, int attribute, int type, int64_t count, const void* values))            \
  X(get, "cudnnBackendGetAttribute",                                                                \
    (Descriptor descriptor, int attribute, int type, int64_t wanted, int64_t* count, void* values)) \
  X(finalize, "cudnnBackendFinalize", (Descriptor descriptor))                                      \
  X(execute, "cudnnBackendExecute", (Handle handle, Descriptor plan, Descriptor pointers))

struct Api {
#define X(name, symbol, parameters) Status(*name) parameters = nullptr;
  MT_CUDNN_FUNCTIONS(X)
#undef X
  const char* (*error_text)(Status code) = nullptr;
  void (*last_error)(char* text, size_t bytes) = nullptr;
};

const Api& api();  // opens the library; throws where it is missing

}  // namespace dnn

enum class ConvolutionKind : int32_t { forward, data, filter };  // which of y, x, w is computed

// Everything that a plan depends on: compared as bytes. Sizes and strides are those of x, w, y, with two or three
// spatial dimensions; groups are what the channels of x and w say.
struct ConvolutionShape {
  std::array<int64_t, 5> x_sizes, x_strides, w_sizes, w_strides, y_sizes, y_strides;
  std::array<int64_t, 3> stride, padding, dilation;
  int32_t dims;
  int32_t number;
  ConvolutionKind kind;
  int32_t alignment;  // of all three, in bytes
  int32_t tf32, deterministic, benchmark;
  int32_t device;
  bool operator==(const ConvolutionShape&) const = default;
};

// Enqueues it: writes the one of the three that `kind` names.
void convolve(const Place& place, const ConvolutionShape& shape, void* x, void* w, void* y, const char* name);

}  // namespace mt::cuda
