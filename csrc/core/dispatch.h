// Kernels by (operator, device). Each operator has a table with one function pointer per device type,
// filled by the backends; an empty cell is a clear error, never a fallback.
#pragma once

#include "core/tensor.h"

namespace mt {

template <class Signature>
struct KernelTable {
  const char* name;  // "aten::add.Tensor"
  Signature* cell[kDeviceTypes] = {};

  Signature* find(Device device) const {
    Signature* kernel = cell[int(device.type)];
    if (!kernel) [[unlikely]]
      fail_missing(device);
    return kernel;
  }

  [[noreturn, gnu::cold, gnu::noinline]] void fail_missing(Device device) const {
    fail(ErrorKind::not_implemented, "Could not run '", name, "' with a tensor on device '",
         to_string(device),
         "': the operator has no kernel for that device (see docs/support_matrix.md). Move the tensor to "
         "'cpu', "
         "or add the cell to the operator's row in ops/.");
  }
};

// Options of tensor factories.
struct TensorOptions {
  std::optional<DType> dtype;
  std::optional<Device> device;
  bool pin_memory = false;
  bool requires_grad = false;

  DType dtype_or_default() const { return dtype.value_or(default_dtype()); }
  Device device_or_default() const { return device.value_or(default_device()); }
};

// A list of dimensions that may be absent; one int stands for a list of one.
class DimList {
 public:
  DimList() = default;
  DimList(std::nullopt_t) {}
  DimList(int64_t dim) : present_(true) { dims_.push_back(dim); }
  DimList(IntList dims) : dims_(dims), present_(true) {}
  DimList(const Dims& dims) : dims_(dims), present_(true) {}

  bool present() const { return present_; }
  bool all() const { return dims_.empty(); }  // absent or empty: every dimension
  IntList dims() const { return dims_; }

 private:
  Dims dims_;
  bool present_ = false;
};

Device resolve_device(Device device);

// Copies between any two devices, casting and broadcasting nothing: same sizes on both sides.
void copy_between(const Tensor& from, const Tensor& to, bool non_blocking);
// The value of a one-element tensor; waits for the device.
Scalar item(const Tensor& tensor);

}  // namespace mt
