#include "infer/layout.h"

#include <algorithm>

namespace mt::infer {
namespace {

// The stride of a dimension of the result in an operand that may have fewer dimensions, or one element where it has many.
int64_t stride_of(const Tensor& operand, IntList sizes, size_t dim) {
  const size_t missing = sizes.size() - operand.sizes().size();
  if (dim < missing) return 0;
  const size_t own = dim - missing;
  return operand.sizes()[own] == sizes[dim] ? operand.strides()[own] : 0;
}

bool all_have(IntList sizes, MemoryFormat format, std::initializer_list<const Tensor*> operands) {
  return std::ranges::all_of(operands, [&](const Tensor* t) {
    return std::ranges::equal(t->sizes(), sizes) && t->is_contiguous(format);
  });
}

}  // namespace

bool suggests_channels_last(const Tensor& t) {
  const size_t n = t.sizes().size();
  if ((n != 4 && n != 5) || t.strides()[1] == 0) return false;
  int64_t inner = 0;
  auto lies_outside = [&](size_t dim) {
    const int64_t size = t.sizes()[dim], stride = t.strides()[dim];
    if (size == 0 || stride < inner) return false;
    inner = size > 1 ? stride * size : stride;
    return true;
  };
  if (!lies_outside(1)) return false;
  for (size_t dim = n - 1; dim >= 2; --dim)
    if (!lies_outside(dim)) return false;
  // One column of one pixel has the strides of both orders, and counts as contiguous.
  return inner != t.strides()[1] && lies_outside(0);
}

Dims dense_strides(IntList sizes, std::initializer_list<const Tensor*> operands) {
  const size_t n = sizes.size();
  Dims order(n);  // innermost first
  for (size_t i = 0; i < n; ++i) order[i] = int64_t(n - 1 - i);
  auto outer = [&](int64_t a, int64_t b) -> int {  // 1: a lies outside b; -1: inside; 0: unknown
    for (const Tensor* operand : operands) {
      const int64_t left = stride_of(*operand, sizes, size_t(a)),
                    right = stride_of(*operand, sizes, size_t(b));
      if (left == 0 || right == 0) continue;
      if (left != right) return left > right ? 1 : -1;
      if (sizes[size_t(a)] > sizes[size_t(b)]) return 1;
    }
    return 0;
  };
  for (size_t i = 1; i < n; ++i) {
    for (size_t at = i, before = i; before-- > 0;) {
      const int relation = outer(order[before], order[at]);
      if (relation < 0) break;
      if (relation > 0) std::swap(order[before], order[at]), at = before;
    }
  }
  Dims out(n);
  int64_t step = 1;
  for (int64_t d : order) {
    out[size_t(d)] = step;
    step *= std::max<int64_t>(sizes[size_t(d)], 1);
  }
  return out;
}

void prepare_elementwise(Output& out, IntList sizes, DType dtype, Device device,
                         std::initializer_list<const Tensor*> operands) {
  // One dimension has one order.
  if (sizes.size() <= 1 || out.is_inplace() || all_have(sizes, MemoryFormat::contiguous, operands))
    return out.prepare(sizes, dtype, device);
  const bool image = sizes.size() == 4 || sizes.size() == 5;
  const auto last = sizes.size() == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d;
  const bool pictures = image && all_have(sizes, last, operands);
  out.prepare_strided(sizes, pictures ? strides_for(sizes, last) : dense_strides(sizes, operands), dtype,
                      device);
}

}  // namespace mt::infer
