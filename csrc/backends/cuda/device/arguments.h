// What the host hands to kernels, as both sides see it. Included by the host's compiler and by the device's.
#pragma once

namespace mt::cuda {

inline constexpr int kMaxKernelDims = 16;
inline constexpr int kMaxOperands = 4;  // the result is the first
inline constexpr int kMaxNumbers = 4;
inline constexpr unsigned kElementwiseThreads = 128;  // of a block

// Parameters of functors and numbers among the operands, each of the compute type, up to 16 bytes wide.
struct alignas(16) Numbers {
  char bytes[(kMaxNumbers + 1) * 16];  // the last is an operand's
};

// Division by a number that is the same for all threads, as a product and a shift.
struct Divisor {
  unsigned value, factor, shift;
};

struct DenseCall {
  void* data[kMaxOperands];
  long long count;
  Numbers numbers;
};

// The same over the tensors of a list: a block does a part of one of them.
inline constexpr int kMostListed = 56;
struct ListedCall {
  void* data[kMostListed][kMaxOperands];
  long long counts[kMostListed];
  int blocks[kMostListed + 1];  // how many come before each tensor's; the last is gridDim.x
  int number;
  Numbers numbers;
};

struct StridedCall {
  void* data[kMaxOperands];
  long long count;
  int dims;  // the first is the innermost
  Divisor sizes[kMaxKernelDims];
  long long long_sizes[kMaxKernelDims];
  long long strides[kMaxKernelDims][kMaxOperands];  // in bytes
  int repeated;  // of groups: a bit for each operand that is the same along a group
  Numbers numbers;
};

// A reduction: outputs are counted over the dimensions that stay, terms over those that fold away.
struct ReduceCall {
  const void* in;
  void* out;  // of the result's type, or accumulators when several blocks share an output
  long long outputs, terms;
  long long terms_per_part;  // of which there are gridDim.y
  int kept_dims, folded_dims;
  long long kept_sizes[kMaxKernelDims], kept_strides[kMaxKernelDims], out_strides[kMaxKernelDims];
  long long folded_sizes[kMaxKernelDims], folded_strides[kMaxKernelDims];  // strides in elements
  long long count;   // of all terms of an output, for means
  int dense_groups;  // terms lie side by side, and each output's and part's begin at a multiple of 16 bytes
  double number;     // of functors that finish with one
};

}  // namespace mt::cuda
