#include "backends/cuda/operands.h"

#include <algorithm>

#include "core/reach.h"
#include "core/views.h"

namespace mt::cuda {
namespace {

constexpr int64_t kMostBlocks = int64_t(1) << 20;

Tensor copied(const Tensor& tensor, DType dtype) {
  Tensor copy = new_tensor(tensor.sizes(), dtype, tensor.device());
  copy_operand(tensor, copy);
  return copy;
}

void check_dims(const char* name, int64_t dims) {
  MT_CHECK(dims <= kMaxShapeDims, name, ": tensors with more than ", kMaxShapeDims,
           " dimensions are not supported on CUDA; got ", dims);
}

}  // namespace

Tensor dense_operand(const Tensor& tensor) { return dense_operand(tensor, tensor.dtype()); }
Tensor dense_operand(const Tensor& tensor, DType dtype) {
  check_reach(tensor);
  return tensor.is_contiguous() && tensor.dtype() == dtype ? tensor : copied(tensor, dtype);
}
Tensor index_operand(const Tensor& tensor) {
  return tensor.dtype() == DType::int64 ? tensor : copied(tensor, DType::int64);
}
Tensor number_operand(const Scalar& value, DType dtype, Device device) {
  Tensor number = new_tensor({}, dtype, device);
  gpu().fill(number, value);
  return number;
}
Tensor with_a_dim(const Tensor& tensor) { return tensor.dim() == 0 ? views::unsqueeze(tensor, 0) : tensor; }

void copy_operand(const Tensor& from, const Tensor& to) { gpu().copy_on_device(from, to); }

Lines::Lines(IntList sizes, int64_t dim) {
  for (int64_t d = 0; d < int64_t(sizes.size()); ++d) {
    const int64_t size = sizes[size_t(d)];
    if (d < dim) outer *= size;
    else if (d == dim) length = size;
    else inner *= size;
  }
}

Walk walk_together(const char* name, IntList sizes, std::initializer_list<Seen> tensors) {
  Walk walk{};
  walk.count = 1;
  for (const Seen& seen : tensors) {
    check_reach(seen.tensor);
    seen.places = {};
    seen.places.data = seen.tensor.data();
  }
  for (size_t d = sizes.size(); d-- > 0;) {
    const int64_t size = sizes[d];
    walk.count *= size;
    if (size == 1) continue;
    const int last = walk.dims - 1;
    const bool joins = last >= 0 && std::ranges::all_of(tensors, [&](const Seen& seen) {
                         return seen.tensor.strides()[d] == seen.places.strides[last] * walk.sizes[last];
                       });
    if (joins) {
      walk.sizes[last] *= size;
      continue;
    }
    check_dims(name, walk.dims + 1);
    walk.sizes[walk.dims] = size;
    for (const Seen& seen : tensors) seen.places.strides[walk.dims] = seen.tensor.strides()[d];
    ++walk.dims;
  }
  return walk;
}

Walk walk_each(const char* name, IntList sizes, std::initializer_list<Seen> tensors) {
  check_dims(name, int64_t(sizes.size()));
  Walk walk{};
  walk.count = 1;
  walk.dims = int(sizes.size());
  for (const Seen& seen : tensors) {
    check_reach(seen.tensor);
    seen.places = {};
    seen.places.data = seen.tensor.data();
  }
  for (int d = 0; d < walk.dims; ++d) {
    const size_t from = sizes.size() - 1 - size_t(d);
    walk.sizes[d] = sizes[from];
    walk.count *= sizes[from];
    for (const Seen& seen : tensors) seen.places.strides[d] = seen.tensor.strides()[from];
  }
  return walk;
}

const char* unit_text(size_t bytes) {
  switch (bytes) {
    case 1: return "uint8_t";
    case 2: return "uint16_t";
    case 4: return "uint32_t";
    case 8: return "uint64_t";
    default: return "Several<uint64_t, 2>";
  }
}

void check_dtype(kernels::DTypeSet domain, DType dtype, const char* name) {
  if (!kernels::contains(domain, dtype)) [[unlikely]]
    kernels::fail_unsupported(name, dtype);
}

unsigned blocks_over(int64_t elements, unsigned block) {
  return unsigned(std::clamp<int64_t>((elements + block - 1) / block, 1, kMostBlocks));
}

std::string program_of(const Family& family,
                       std::initializer_list<std::pair<const char*, std::string>> entries) {
  std::string text = join_text("#include \"backends/cuda/device/", family.header,
                               ".h\"\nusing namespace mt;\nusing namespace mt::cuda;\n");
  for (const auto& [entry, body] : entries)
    text += join_text("extern \"C\" __global__ void ", entry, "(const __grid_constant__ ", family.call,
                      " call) { ", body, "(call); }\n");
  return text;
}

}  // namespace mt::cuda
