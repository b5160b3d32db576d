// One call of an operator of the old interface, seen by the function that carries it out with ACLNN operators.
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "aclop/objects.h"
#include "base/error.h"

namespace softnpu::aclop {

// Thrown by an operator; becomes the code and message of the call.
struct Refused : std::runtime_error {
  Refused(int error_code, const std::string& message) : std::runtime_error(message), code(error_code) {}
  int code;
};

struct Destroy {
  void operator()(const aclTensor* tensor) const { aclDestroyTensor(tensor); }
  void operator()(const aclScalar* scalar) const { aclDestroyScalar(scalar); }
  void operator()(const aclIntArray* array) const { aclDestroyIntArray(array); }
};
using Tensor = std::unique_ptr<aclTensor, Destroy>;
using Number = std::unique_ptr<aclScalar, Destroy>;
using IntArray = std::unique_ptr<aclIntArray, Destroy>;

Number number(double value);

class Call {
 public:
  struct Argument {
    const aclTensorDesc* desc;
    const aclDataBuffer* buffer;
  };

  Call(const char* type, std::span<const Argument> inputs, std::span<const Argument> outputs,
       const aclopAttr* attributes, aclrtStream stream)
      : type_(type), inputs_(inputs), outputs_(outputs), attributes_(attributes), stream_(stream) {}

  // Whether an optional input is there.
  bool has_input(size_t index) const;
  size_t output_count() const { return outputs_.size(); }
  const aclTensorDesc& input_desc(size_t index) const;
  const aclTensorDesc& output_desc(size_t index) const;
  Tensor input(size_t index) const;
  Tensor output(size_t index) const;
  // The same with the last two dimensions exchanged.
  Tensor transposed_input(size_t index) const;
  // The memory of an input or output seen with other sizes and strides (in elements).
  Tensor input_as(size_t index, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                  int64_t offset) const;
  Tensor output_as(size_t index, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                   int64_t offset) const;
  // The values of an input of integers, such as a shape. One on the device is waited for and copied.
  std::vector<int64_t> integers(size_t index) const;

  // The one value of an input in the host's memory; nullptr for one on the device.
  Number host_number(size_t index) const;

  template <class Value>
  Value attribute(const char* name, Value otherwise) const {
    if (attributes_ == nullptr) return otherwise;
    const auto found = attributes_->values.find(name);
    if (found == attributes_->values.end()) return otherwise;
    if (const Value* value = std::get_if<Value>(&found->second)) return *value;
    refuse("attribute '", name, "' has another type than the operator's");
  }

  // Both phases of an ACLNN operator.
  template <class First, class Second, class... Arguments>
  void run(First first, Second second, const Arguments&... arguments) const {
    uint64_t workspace = 0;
    aclOpExecutor* executor = nullptr;
    check(first(handle(arguments)..., &workspace, &executor));
    check(second(nullptr, workspace, executor, stream_));
  }

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    throw Refused(ACL_ERROR_INVALID_PARAM, mt::join_text(type_, ": ", parts...));
  }

 private:
  template <class T>
  static const T& handle(const T& value) {
    return value;
  }
  static aclTensor* handle(const Tensor& tensor) { return tensor.get(); }
  static const aclScalar* handle(const Number& scalar) { return scalar.get(); }
  static const aclIntArray* handle(const IntArray& array) { return array.get(); }

  const Argument& at(std::span<const Argument> arguments, size_t index, const char* kind) const;
  Tensor tensor(const Argument& argument, const std::vector<int64_t>& sizes,
                const std::vector<int64_t>* strides, int64_t offset) const;
  void check(int status) const;

  const char* type_;
  std::span<const Argument> inputs_, outputs_;
  const aclopAttr* attributes_;
  aclrtStream stream_;
};

using Operator = void (*)(const Call&);
// nullptr for a name that is not implemented.
Operator find_operator(std::string_view type);

}  // namespace softnpu::aclop
