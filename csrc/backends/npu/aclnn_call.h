// The one generic ACLNN call.
//
//   static aclnn::Function<decltype(aclnnAddGetWorkspaceSize)> f("aclnnAdd");
//   aclnn::call(f, out.device(), self, other, alpha, out);
//
// Descriptors live for the call; a workspace comes from the caching allocator on the launching stream and goes back
// right after the launch, because the stream runs in order. Nothing here waits for the device.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "backends/npu/acl_api.h"
#include "backends/npu/npu_driver.h"
#include "core/dispatch.h"
#include "core/tensor.h"

namespace mt::npu::aclnn {

aclDataType data_type(DType dtype);
aclTensor* make_tensor(const Tensor& tensor);
aclScalar* make_scalar(const Scalar& value);
// Descriptors of what operators are given most often, and only read, live as long as the process.
const aclScalar* shared_scalar(const Scalar& value);   // of 0 and 1; null for other numbers
const aclIntArray* shared_int_array(IntList numbers);  // of no or one dimension; null for other lists
aclIntArray* make_int_array(IntList numbers);
aclFloatArray* make_float_array(std::span<const float> numbers);
aclBoolArray* make_bool_array(std::span<const bool> flags);
aclTensorList* make_tensor_list(TensorList tensors);
aclScalarList* make_scalar_list(std::span<const Scalar> values);

// The reduced dimensions, explicit and not negative; every one when `dim` names none.
Dims dims(const DimList& dim, int64_t ndim);

// A parameter of type P filled from an argument of type A. Numbers convert to the exact type of the parameter.
template <class P, class A>
struct Argument {
  static_assert(std::is_arithmetic_v<P> && std::is_arithmetic_v<A>,
                "no conversion from this argument to this parameter of the ACLNN function");
  P value;
  explicit Argument(const A& argument) : value(static_cast<P>(argument)) {}
};

template <class P>
struct TensorArgument {
  P value;
  explicit TensorArgument(const Tensor& tensor) : value(tensor.defined() ? make_tensor(tensor) : nullptr) {}
  ~TensorArgument() {
    if (value) acl().aclDestroyTensor(value);
  }
  TensorArgument(const TensorArgument&) = delete;
};
template <> struct Argument<const aclTensor*, Tensor> : TensorArgument<const aclTensor*> {
  using TensorArgument::TensorArgument;
};
template <> struct Argument<aclTensor*, Tensor> : TensorArgument<aclTensor*> {
  using TensorArgument::TensorArgument;
};

template <class A>
struct Argument<const aclScalar*, A> {
  const aclScalar* value;
  explicit Argument(const A& number) {
    if constexpr (std::is_same_v<A, std::optional<Scalar>>) {
      if (number) make(*number);
      else value = nullptr;
    } else {
      make(Scalar(number));
    }
  }
  ~Argument() {
    if (own_) acl().aclDestroyScalar(value);
  }
  Argument(const Argument&) = delete;

 private:
  void make(const Scalar& number) {
    value = shared_scalar(number);
    own_ = !value;
    if (own_) value = make_scalar(number);
  }
  bool own_ = false;
};

template <class A>
struct Argument<const aclIntArray*, A> {
  const aclIntArray* value;
  explicit Argument(const A& list) {
    IntList numbers;
    if constexpr (std::is_same_v<A, DimList>) numbers = list.dims();
    else numbers = list;
    value = shared_int_array(numbers);
    own_ = !value;
    if (own_) value = make_int_array(numbers);
  }
  ~Argument() {
    if (own_) acl().aclDestroyIntArray(value);
  }
  Argument(const Argument&) = delete;

 private:
  bool own_;
};

template <size_t N>
struct Argument<const aclBoolArray*, std::array<bool, N>> {
  const aclBoolArray* value;
  explicit Argument(const std::array<bool, N>& flags) : value(make_bool_array(flags)) {}
  ~Argument() { acl().aclDestroyBoolArray(value); }
  Argument(const Argument&) = delete;
};

template <class P>
struct ListArgument {
  P value;
  explicit ListArgument(TensorList tensors) : value(make_tensor_list(tensors)) {}
  ~ListArgument() {
    if (value) acl().aclDestroyTensorList(value);  // with its elements
  }
  ListArgument(const ListArgument&) = delete;
};
template <> struct Argument<const aclTensorList*, TensorList> : ListArgument<const aclTensorList*> {
  using ListArgument::ListArgument;
};
template <> struct Argument<aclTensorList*, TensorList> : ListArgument<aclTensorList*> {
  using ListArgument::ListArgument;
};

template <> struct Argument<aclDataType, DType> {
  aclDataType value;
  explicit Argument(DType dtype) : value(data_type(dtype)) {}
};
template <size_t N> struct Argument<const char*, char[N]> {
  const char* value;
  explicit Argument(const char (&text)[N]) : value(text) {}
};
// Some functions take text without const; none writes to it.
template <size_t N> struct Argument<char*, char[N]> {
  char* value;
  explicit Argument(const char (&text)[N]) : value(const_cast<char*>(text)) {}
};

using Launch = aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream);

// Both phases of an operator, looked up at its first call.
template <class Signature> class Function;
template <class... P>
class Function<aclnnStatus(P...)> {
 public:
  using Plan = aclnnStatus(P...);
  explicit constexpr Function(const char* name) : name_(name) {}

  const char* name() const { return name_; }
  Plan* plan() {
    Plan* found = plan_.load(std::memory_order_acquire);
    return found ? found : resolve();
  }
  Launch* launch() const { return launch_.load(std::memory_order_relaxed); }  // after plan()

 private:
  Plan* resolve();

  const char* name_;
  std::atomic<Plan*> plan_{nullptr};
  std::atomic<Launch*> launch_{nullptr};
};

struct Phases {
  void* plan;
  void* launch;
};
Phases find_operator(const char* name);  // throws NotImplementedError when the library lacks it

template <class... P>
typename Function<aclnnStatus(P...)>::Plan* Function<aclnnStatus(P...)>::resolve() {
  const Phases phases = find_operator(name_);
  launch_.store(reinterpret_cast<Launch*>(phases.launch), std::memory_order_relaxed);
  auto* plan = reinterpret_cast<Plan*>(phases.plan);
  plan_.store(plan, std::memory_order_release);
  return plan;
}

// The second phase: workspace, launch, and the wait of ACL_LAUNCH_BLOCKING.
void launch(const char* name, Launch* function, uint64_t workspace, aclOpExecutor* executor, int device);

template <class... P, class... A>
void call(Function<aclnnStatus(P...)>& function, Device device, const A&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A) + 2, "wrong number of arguments for this ACLNN function");
  auto* plan = function.plan();
  activate(device.index);
  [&]<size_t... I>(std::index_sequence<I...>) {
    using Parameters = std::tuple<P...>;
    std::tuple<Argument<std::tuple_element_t<I, Parameters>, A>...> held{arguments...};
    uint64_t workspace = 0;
    aclOpExecutor* executor = nullptr;
    const aclnnStatus status = plan(std::get<I>(held).value..., &workspace, &executor);
    if (status != 0) [[unlikely]]
      fail_acl(status, function.name(), "GetWorkspaceSize");
    launch(function.name(), function.launch(), workspace, executor, device.index);
  }(std::index_sequence_for<A...>());
}

}  // namespace mt::npu::aclnn

// A function of the vendor's library under the name `f`.
#define MT_ACLNN(name) \
  static ::mt::npu::aclnn::Function<decltype(name##GetWorkspaceSize)> f { #name }
