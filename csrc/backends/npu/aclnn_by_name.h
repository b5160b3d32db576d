// An ACLNN operator by its name, for callers who know it and its arguments only at run time.
//
//   aclnn::CallByName call(*aclnn::find_by_name("aclnnAdd"), device);
//   call.add_tensor(self), call.add_tensor(other), call.add_scalar(1), call.add_tensor(out);
//   call.launch();
//
// Descriptors and launches are those of the calls that are written out (aclnn_call.h).
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/npu/aclnn_call.h"
#include "backends/npu/aclnn_table.h"

namespace mt::npu::aclnn {

const Operator* find_by_name(std::string_view name);  // null where the description has none
std::vector<std::string_view> parameter_names(const Operator& op);
std::string describe_parameters(const Operator& op);     // "aclTensor* self, int64_t dim"
void check_count(const Operator& op, size_t arguments);  // throws TypeError: what it takes

class CallByName {
 public:
  CallByName(const Operator& op, int device);  // throws NotImplementedError when the library lacks it
  ~CallByName();
  CallByName(const CallByName&) = delete;

  // The argument of the next parameter, which must be of that kind.
  void add_none();  // no descriptor, no text
  void add_tensor(const Tensor& tensor);
  void add_scalar(const Scalar& value);
  void add_int_array(IntList numbers);
  void add_float_array(std::span<const float> numbers);
  void add_bool_array(std::span<const bool> flags);
  void add_tensor_list(TensorList tensors);
  void add_scalar_list(std::span<const Scalar> values);
  void add_text(const char* text);  // which outlives the call
  void add_integer(int64_t value);  // all kinds of integers, bool and data types; uint64_t by its bits
  void add_real(double value);      // float and double

  void launch();
  // After a launch of an operator whose results' sizes depend on data: waits for it, and tells what shapes the
  // descriptors of the tensors that were given have now.
  std::vector<Dims> shapes() const;

 private:
  void expect(Kind first, Kind last) const;  // before anything is made for the next parameter
  void push(Value value) { values_[given_++] = value; }

  const Operator& op_;
  const int device_;
  const Phases phases_;
  std::array<Value, kMostParameters> values_;
  size_t given_ = 0;
};

}  // namespace mt::npu::aclnn
