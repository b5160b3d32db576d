// Tensors as the kernels of csrc/backends/cuda/device take them: dense, or as places in a shape that all of them have.
#pragma once

#include "backends/cuda/cuda_driver.h"
#include "backends/cuda/device/calls.h"
#include "core/dispatch.h"
#include "kernels/common/types.h"

namespace mt::cuda {

// Where a kernel may read and write; null for a tensor that is not given.
void* memory(const Tensor& t);

// `t` itself where it is dense in row-major order, and of the dtype if one is given; otherwise a copy that is.
// A tensor that is not given stays that.
Tensor dense(const Tensor& t);
Tensor dense(const Tensor& t, DType dtype);
// The same with any strides: a copy only where the dtype is another.
Tensor as_dtype(const Tensor& t, DType dtype);
inline Tensor as_index(const Tensor& t) { return as_dtype(t, DType::int64); }
Tensor index_on(const Tensor& t, Device device);  // the same of what may lie on the host
Tensor with_a_dim(const Tensor& t);               // of what has none: one of size 1
Tensor numbers_on_device(std::span<const int64_t> numbers, Device device);
Tensor number_on_device(const Scalar& value, DType dtype, Device device);  // without dimensions

void check_dtype(kernels::DTypeSet domain, DType dtype, const char* name);

// A result that a kernel writes densely, or a state that it changes (`kept`).
class DenseResult {
 public:
  enum Before { lost, kept };
  explicit DenseResult(const Tensor& wanted, Before before = lost);
  const Tensor& tensor() const { return made_; }
  void* data() const { return memory(made_); }
  void finish() const;  // copies it to where it is wanted

 private:
  const Tensor& wanted_;
  Tensor made_;
};

// The same for one result.
template <class F>
void into_dense(const Tensor& out, F&& kernel) {
  const DenseResult result(out);
  kernel(result.tensor());
  result.finish();
}

// The first tensor's shape in the order of its memory, neighbouring dimensions merged, and where the elements of each
// tensor lie in it. The others broadcast to the first; for one that is not given, data is null.
struct Walked {
  const Tensor& tensor;
  Places& places;
};
Walk walk_of(std::initializer_list<Walked> tensors);
// Dimensions as they are, for kernels whose coordinates mean something; only their order is turned round.
Walk walk_each(const char* name, IntList sizes, std::initializer_list<Walked> tensors);

// A tensor as [outer, length, inner] around a dimension; one without dimensions has one element.
struct Along {
  int64_t outer = 1, length = 1, inner = 1;
  Along(const Tensor& t, int64_t dim);
};

}  // namespace mt::cuda
