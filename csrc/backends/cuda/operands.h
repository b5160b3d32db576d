// Tensors as the kernels of device/ are handed them (device/calls.h), and one launch of such a kernel.
#pragma once

#include <string>

#include "backends/cuda/cuda_driver.h"
#include "backends/cuda/device/calls.h"
#include "backends/cuda/launch.h"
#include "core/dispatch.h"
#include "kernels/common/types.h"

namespace mt::cuda {

// The tensor itself where its elements lie in order (and are of the dtype), else a copy of which that is true.
Tensor dense_operand(const Tensor& tensor);
Tensor dense_operand(const Tensor& tensor, DType dtype);
Tensor index_operand(const Tensor& tensor);                              // as int64, with any strides
Tensor number_operand(const Scalar& value, DType dtype, Device device);  // without dimensions
Tensor with_a_dim(const Tensor& tensor);                                 // of what has none: one of size 1
void copy_operand(const Tensor& from, const Tensor& to);

// Runs what wants a dense result; what is not dense gets a copy of it.
template <class F>
void write_dense(const Tensor& out, F&& make) {
  if (out.is_contiguous()) return make(out);
  const Tensor result = new_tensor(out.sizes(), out.dtype(), out.device());
  make(result);
  copy_operand(result, out);
}

// [outer, length, inner] around a dimension of a dense tensor.
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;
  Lines(IntList sizes, int64_t dim);
};

// A tensor that takes part in a walk over `sizes`, and where its places are written to.
struct Seen {
  const Tensor& tensor;
  Places& places;
};
// Tensors of one shape: dimensions of size 1 are dropped, neighbours that all tensors have in a row become one.
Walk walk_together(const char* name, IntList sizes, std::initializer_list<Seen> tensors);
// The same dimensions as the tensors', whichever they are; only their order is turned round.
Walk walk_each(const char* name, IntList sizes, std::initializer_list<Seen> tensors);

// An unsigned integer of the element's width as it is spelled in kernels: for those that only move elements.
const char* unit_text(size_t bytes);
inline const char* unit_text(DType dtype) { return unit_text(itemsize(dtype)); }

void check_dtype(kernels::DTypeSet domain, DType dtype, const char* name);

inline constexpr unsigned kFamilyBlock = 256;
unsigned blocks_over(int64_t elements, unsigned block = kFamilyBlock);

// A kernel of device/<header>.h: what is called with a struct of device/calls.h.
struct Family {
  const char* header;
  const char* call;
};
std::string program_of(const Family& family,
                       std::initializer_list<std::pair<const char*, std::string>> entries);

// `body` gives what is instantiated ("gathered<uint32_t>") for a key that was not asked for before.
template <class Call, class Body>
void run_family(const Family& family, Variants& variants, uint64_t key, const char* name, const Tensor& out,
                Shape grid, Shape block, const Call& call, const Body& body) {
  static constexpr const char* kEntries[] = {"kernel", nullptr};
  const int device = out.device().index;
  gpu().activate(device);
  const Loaded& loaded =
      variants.find(key, device, kEntries, [&] { return program_of(family, {{"kernel", body()}}); });
  launch_with(loaded.entries[0], name, device, grid, block, 0, call);
}
// The usual: a thread for each element, over which blocks stride.
template <class Call, class Body>
void run_over(const Family& family, Variants& variants, uint64_t key, const char* name, const Tensor& out,
              int64_t elements, const Call& call, const Body& body) {
  if (elements == 0) return;
  run_family(family, variants, key, name, out, {blocks_over(elements)}, {kFamilyBlock}, call, body);
}

}  // namespace mt::cuda
