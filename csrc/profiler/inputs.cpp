#include "profiler/inputs.h"

#include <bit>
#include <cstring>

namespace mt::profiler {
namespace {

using Kind = ObservedArgument::Kind;

constexpr size_t kMostText = 256;     // bytes of a text that are kept
constexpr size_t kMostElements = 64;  // of a list that are kept

size_t words_of(const Tensor& tensor) { return tensor.defined() ? 3 + 2 * size_t(tensor.dim()) : 1; }

size_t words_of(const ObservedArgument& argument) {
  switch (argument.kind) {
    case Kind::other: return 1;
    case Kind::tensor: return words_of(*static_cast<const Tensor*>(argument.pointer));
    case Kind::tensors: {
      size_t words = 2;
      const auto* tensors = static_cast<const Tensor*>(argument.pointer);
      for (size_t i = 0; i < std::min(argument.size, kMostElements); ++i) words += words_of(tensors[i]);
      return words;
    }
    case Kind::boolean:
    case Kind::integer:
    case Kind::real: return 2;
    case Kind::integers: return 2 + std::min(argument.size, kMostElements);
    case Kind::text: return 2 + (std::min(argument.size, kMostText) + 7) / 8;
  }
  return 1;
}

int64_t* encode(int64_t* out, const Tensor& tensor) {
  if (!tensor.defined()) {
    *out++ = int64_t(Kind::other);
    return out;
  }
  *out++ = int64_t(Kind::tensor);
  *out++ = int64_t(tensor.dtype());
  *out++ = tensor.dim();
  for (int64_t size : tensor.sizes()) *out++ = size;
  for (int64_t stride : tensor.strides()) *out++ = stride;
  return out;
}

int64_t* encode(int64_t* out, const ObservedArgument& argument) {
  if (argument.kind == Kind::tensor) return encode(out, *static_cast<const Tensor*>(argument.pointer));
  *out++ = int64_t(argument.kind);
  switch (argument.kind) {
    case Kind::tensors: {
      const size_t count = std::min(argument.size, kMostElements);
      *out++ = int64_t(count);
      const auto* tensors = static_cast<const Tensor*>(argument.pointer);
      for (size_t i = 0; i < count; ++i) out = encode(out, tensors[i]);
      return out;
    }
    case Kind::boolean:
    case Kind::integer: *out++ = argument.integer; return out;
    case Kind::real: *out++ = std::bit_cast<int64_t>(argument.real); return out;
    case Kind::integers: {
      const size_t count = std::min(argument.size, kMostElements);
      *out++ = int64_t(count);
      if (count) std::memcpy(out, argument.pointer, count * sizeof(int64_t));
      return out + count;
    }
    case Kind::text: {
      const size_t bytes = std::min(argument.size, kMostText);
      *out++ = int64_t(bytes);
      if (bytes) std::memcpy(out, argument.pointer, bytes);
      return out + (bytes + 7) / 8;
    }
    default: return out;
  }
}

}  // namespace

const int64_t* encode_inputs(Chunk& chunk, ObservedArguments arguments) {
  size_t words = 2;
  for (const ObservedArgument& argument : arguments) words += words_of(argument);
  auto* result = static_cast<int64_t*>(chunk.allocate(words * sizeof(int64_t)));
  int64_t* out = result;
  *out++ = int64_t(words);
  *out++ = int64_t(arguments.size());
  for (const ObservedArgument& argument : arguments) out = encode(out, argument);
  return result;
}

}  // namespace mt::profiler
