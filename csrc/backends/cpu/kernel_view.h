// Tensors and numbers as kernels see them.
#pragma once

#include "core/dispatch.h"
#include "core/reach.h"
#include "kernels/common/copy.h"
#include "kernels/common/view.h"

namespace mt::cpu {

// Where a kernel may read and write. Note [Storages that shrink] in core/reach.h
inline void* memory(const Tensor& t) {
  check_reach(t);
  return t.data();
}

inline kernels::View view(const Tensor& t) {
  return {memory(t),    t.impl()->sizes(), t.impl()->strides(),
          int(t.dim()), t.dtype(),         t.is_contiguous() ? t.numel() : -1};
}

// The same with one dimension at least, for kernels that work along one.
inline kernels::View view_along(const Tensor& t) {
  static constexpr int64_t one = 1;
  kernels::View made = view(t);
  if (made.ndim == 0) made.sizes = made.strides = &one, made.ndim = 1;
  return made;
}

// A number of a dtype, as a 0-dim operand.
struct NumberView {
  alignas(16) char bytes[16];
  kernels::View view;

  NumberView(const Scalar& value, DType dtype) : view{bytes, nullptr, nullptr, 0, dtype, 1} {
    switch (dtype) {
#define X(name, type, legacy) \
  case DType::name: *reinterpret_cast<type*>(bytes) = value.to<type>(); break;
      MT_FORALL_DTYPES(X)
#undef X
      default: fail(ErrorKind::runtime, "a number cannot take part in arithmetic of this dtype");
    }
  }
};

// The dtype of a number beside tensors: the kernel decides whether half precision rounds it.
inline DType number_dtype(DType compute) {
  return compute == DType::float16 || compute == DType::bfloat16 ? DType::float32 : compute;
}

inline int wrapped_dim(const Tensor& t, int64_t dim) { return int(wrap_dim(dim, t.dim())); }

// A 0-dim tensor seen with one dimension.
Tensor at_least_1d(const Tensor& t);

// `t` itself where it is dense in row-major order, and of the dtype if one is given; otherwise a copy that is.
Tensor dense(const Tensor& t);
Tensor dense(const Tensor& t, DType dtype);

// Indices and classes as int64.
Tensor as_long(const Tensor& t);

// Runs a kernel that wants a dense result; copies it to `out` if that is not dense itself.
template <class F>
void into_dense(const Tensor& out, F&& kernel) {
  if (out.is_contiguous()) return kernel(out);
  const Tensor result = new_tensor(out.sizes(), out.dtype(), out.device());
  kernel(result);
  kernels::copy(view(result), view(out));
}

}  // namespace mt::cpu
