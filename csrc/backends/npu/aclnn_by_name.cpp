#include "backends/npu/aclnn_by_name.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/error.h"

namespace mt::npu::aclnn {
namespace {

// Both phases of an operator, looked up at its first call.
Phases phases_of(const Operator& op) {
  struct Slot {
    std::atomic<void*> plan{nullptr}, launch{nullptr};
  };
  static const std::unique_ptr<Slot[]> slots(new Slot[operators().size()]);
  Slot& slot = slots[size_t(&op - operators().data())];
  if (void* plan = slot.plan.load(std::memory_order_acquire)) [[likely]]
    return {plan, slot.launch.load(std::memory_order_relaxed)};
  const Phases found = find_operator(op.name);
  slot.launch.store(found.launch, std::memory_order_relaxed);
  slot.plan.store(found.plan, std::memory_order_release);
  return found;
}

void destroy(Kind kind, const Value& value) {
  switch (kind) {
    case Kind::tensor: acl().aclDestroyTensor(value_as<const aclTensor*>(value)); break;
    case Kind::scalar: acl().aclDestroyScalar(value_as<const aclScalar*>(value)); break;
    case Kind::int_array: acl().aclDestroyIntArray(value_as<const aclIntArray*>(value)); break;
    case Kind::float_array: acl().aclDestroyFloatArray(value_as<const aclFloatArray*>(value)); break;
    case Kind::bool_array: acl().aclDestroyBoolArray(value_as<const aclBoolArray*>(value)); break;
    // With their elements.
    case Kind::tensor_list: acl().aclDestroyTensorList(value_as<const aclTensorList*>(value)); break;
    case Kind::scalar_list: acl().aclDestroyScalarList(value_as<const aclScalarList*>(value)); break;
    default: break;
  }
}

bool holds_descriptor(Kind kind, const Value& value) { return kind < Kind::text && value.pointer; }

Dims shape_of(const aclTensor* tensor) {
  int64_t* sizes = nullptr;
  uint64_t count = 0;
  check(acl().aclGetViewShape(tensor, &sizes, &count), "aclGetViewShape");
  const std::unique_ptr<int64_t[]> owner(sizes);  // made with new[], and left to the caller
  return Dims(IntList(sizes, count));
}

}  // namespace

const char* type_text(Kind kind) {
#define X(kind, type) #type,
  static constexpr const char* kTexts[] = {MT_ACLNN_KINDS(X)};
#undef X
  return kTexts[int(kind)];
}

const Operator* find_by_name(std::string_view name) {
  const auto found = std::ranges::lower_bound(operators(), name, {}, &Operator::name);
  return found != operators().end() && found->name == name ? &*found : nullptr;
}

std::vector<std::string_view> parameter_names(const Operator& op) {
  std::vector<std::string_view> names;
  std::string_view rest = op.parameter_names;
  for (size_t i = 0; i < op.count; ++i) {
    const size_t end = std::min(rest.find(' '), rest.size());
    names.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

std::string describe_parameters(const Operator& op) {
  std::string text;
  const auto names = parameter_names(op);
  for (size_t i = 0; i < names.size(); ++i)
    text += join_text(i ? ", " : "", type_text(op.kinds[i]), " ", names[i]);
  return text;
}

void check_count(const Operator& op, size_t arguments) {
  MT_CHECK_AS(type, arguments == op.count, op.name, " takes ", int(op.count), " arguments (",
              describe_parameters(op), "), got ", arguments);
}

CallByName::CallByName(const Operator& op, int device) : op_(op), device_(device), phases_(phases_of(op)) {
  activate(device);
}

CallByName::~CallByName() {
  for (size_t i = 0; i < given_; ++i)
    if (holds_descriptor(op_.kinds[i], values_[i])) destroy(op_.kinds[i], values_[i]);
}

void CallByName::expect(Kind first, Kind last) const {
  check_count(op_, std::max<size_t>(given_ + 1, op_.count));
  const Kind kind = op_.kinds[given_];
  MT_CHECK_AS(type, kind >= first && kind <= last, op_.name, ": argument '", parameter_names(op_)[given_],
              "' is ", type_text(kind), ", but was given as ", type_text(first));
}

void CallByName::add_none() {
  expect(Kind::tensor, Kind::text);
  push({.pointer = nullptr});
}
void CallByName::add_tensor(const Tensor& tensor) {
  expect(Kind::tensor, Kind::tensor);
  push({.pointer = make_tensor(tensor)});
}
void CallByName::add_scalar(const Scalar& value) {
  expect(Kind::scalar, Kind::scalar);
  push({.pointer = make_scalar(value)});
}
void CallByName::add_int_array(IntList numbers) {
  expect(Kind::int_array, Kind::int_array);
  push({.pointer = make_int_array(numbers)});
}
void CallByName::add_float_array(std::span<const float> numbers) {
  expect(Kind::float_array, Kind::float_array);
  push({.pointer = make_float_array(numbers)});
}
void CallByName::add_bool_array(std::span<const bool> flags) {
  expect(Kind::bool_array, Kind::bool_array);
  push({.pointer = make_bool_array(flags)});
}
void CallByName::add_tensor_list(TensorList tensors) {
  expect(Kind::tensor_list, Kind::tensor_list);
  push({.pointer = make_tensor_list(tensors)});
}
void CallByName::add_scalar_list(std::span<const Scalar> values) {
  expect(Kind::scalar_list, Kind::scalar_list);
  push({.pointer = make_scalar_list(values)});
}
void CallByName::add_text(const char* text) {
  expect(Kind::text, Kind::text);
  push({.pointer = text});
}
void CallByName::add_integer(int64_t value) {
  expect(Kind::data_type, Kind::uint64);
  push({.integer = value});
}
void CallByName::add_real(double value) {
  expect(Kind::single, Kind::real);
  push({.real = value});
}

void CallByName::launch() {
  check_count(op_, given_);
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  const aclnnStatus status = op_.plan(phases_.plan, values_.data(), &workspace, &executor);
  if (status != 0) [[unlikely]]
    fail_acl(status, op_.name, "GetWorkspaceSize");
  aclnn::launch(op_.name, reinterpret_cast<Launch*>(phases_.launch), workspace, executor, device_);
}

std::vector<Dims> CallByName::shapes() const {
  npu().wait_for_data(device_, current_stream(device_));
  std::vector<Dims> result;
  for (size_t i = 0; i < given_; ++i)
    if (op_.kinds[i] == Kind::tensor && values_[i].pointer)
      result.push_back(shape_of(value_as<const aclTensor*>(values_[i])));
  return result;
}

}  // namespace mt::npu::aclnn
