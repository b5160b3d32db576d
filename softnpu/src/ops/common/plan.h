// The first phase of an operator: check the arguments, take what is needed by value, leave a closure to run.
//
// A planning function (one per operator; op_plans.h declares them all) asks the Plan for its tensors in the
// order of the operator's parameters and ends with plan.run(closure). A bad argument throws; the entry point
// turns that into the status code and the message.
#pragma once

#include <bitset>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "kernels/common/types.h"
#include "kernels/common/view.h"
#include "nnopbase/executor.h"
#include "nnopbase/objects.h"
#include "runtime/device_memory.h"

namespace softnpu::ops {

using mt::Category;
using mt::DType;
using mt::Scalar;
using mt::kernels::DTypeSet;
using mt::kernels::View;
namespace domains = mt::kernels::domains;

// What most operators of a card take: no float64.
inline constexpr DTypeSet kUpToFloat =
    mt::kernels::dtype_set(DType::float16, DType::bfloat16, DType::float32);
inline constexpr DTypeSet kInt32 = mt::kernels::dtype_set(DType::int32),
                          kInt64 = mt::kernels::dtype_set(DType::int64);

inline constexpr int kMaxDims = 8;  // as on the card
using DimSet = std::bitset<kMaxDims>;

struct PlanError : std::runtime_error {
  PlanError(int status_code, const std::string& message) : std::runtime_error(message), status(status_code) {}
  int status;
};

// A tensor argument, by value; its address stays in the executor's slot. The fields are ordered so that few
// dimensions touch few cache lines: the executor moves between the launching thread and the stream's with
// every operator.
struct Operand {
  int64_t sizes[kMaxDims];
  int64_t offset;  // bytes from the slot's address to element [0, 0, ...]
  uint32_t slot;
  int16_t ndim;
  DType dtype;
  int64_t strides[kMaxDims];

  Operand() {}
  Operand(const Operand& other) { *this = other; }
  Operand& operator=(const Operand& other) {
    offset = other.offset, slot = other.slot, ndim = other.ndim, dtype = other.dtype;
    copy_few(other.sizes, uint64_t(ndim), sizes);
    copy_few(other.strides, uint64_t(ndim), strides);
    return *this;
  }

  int64_t numel() const;
  // Points into the operand, which must live as long as the view.
  View view(const aclOpExecutor& executor) const&;
  View view(const aclOpExecutor& executor) const&& = delete;
};

// The sizes as text, for messages: "[2, 3]".
std::string shape_text(const int64_t* sizes, int ndim);
inline std::string shape_text(const Operand& operand) { return shape_text(operand.sizes, operand.ndim); }
// The names of the dtypes, for messages: "float16, float32 or float64".
std::string dtypes_text(DTypeSet dtypes);
inline bool same_shape(const Operand& a, const Operand& b) {
  return a.ndim == b.ndim && std::equal(a.sizes, a.sizes + a.ndim, b.sizes);
}

class Plan {
 public:
  explicit Plan(aclOpExecutor& executor) : executor_(executor) {}

  Operand input(const aclTensor* tensor, const char* name) { return tensor_argument(tensor, name, false); }
  Operand output(const aclTensor* tensor, const char* name) { return tensor_argument(tensor, name, true); }
  // An argument that may be NULL still counts as a parameter.
  std::optional<Operand> optional_output(const aclTensor* tensor, const char* name);
  std::optional<Operand> optional_input(const aclTensor* tensor, const char* name);
  std::vector<Operand> inputs(const aclTensorList* list, const char* name);
  std::vector<Operand> outputs(const aclTensorList* list, const char* name);
  // Entries may be NULL, the list may not.
  std::vector<std::optional<Operand>> optional_inputs(const aclTensorList* list, const char* name);
  Scalar scalar(const aclScalar* scalar, const char* name) const;
  std::vector<int64_t> integers(const aclIntArray* array, const char* name) const;
  DType dtype(aclDataType type, const char* name) const;
  // -ndim <= dim < ndim, made non-negative. A scalar counts as one dimension.
  int dim(int64_t dim, const Operand& of) const;
  // The dimensions of an array, made non-negative, without repetition; none or NULL means all.
  DimSet dims(const aclIntArray* dims, const Operand& of) const;
  std::vector<Scalar> scalars(const aclScalarList* list, const char* name) const;

  void require_same_shape(const Operand& a, const char* a_name, const Operand& b, const char* b_name) const;
  void require_shape(const Operand& operand, const char* name, const std::vector<int64_t>& wanted) const;
  void require_broadcast(const Operand& operand, const char* name, const Operand& to) const;
  void require_ndim(const Operand& operand, const char* name, int ndim) const;
  // Like the card, the software NPU refuses a dtype here: what reaches the stream has a kernel.
  void require_dtype(const Operand& operand, const char* name, DTypeSet wanted) const {
    if (!mt::kernels::contains(wanted, operand.dtype)) [[unlikely]]
      refuse_dtype(operand, name, wanted);
  }
  void require_same_dtype(const Operand& a, const char* a_name, const Operand& b, const char* b_name) const;

  template <class... Parts>
  [[noreturn, gnu::cold, gnu::noinline]] void invalid(const Parts&... parts) const {
    throw PlanError(ACLNN_ERR_PARAM_INVALID, mt::join_text(executor_.name, ": ", parts...));
  }
  [[noreturn]] void null_argument(const char* name) const;
  [[noreturn]] void refuse_unimplemented() const;

  // What the stream will do: closure(const aclOpExecutor&), which makes views of its operands with it.
  template <class Closure>
  void run(Closure&& closure) {
    run_made([&]() -> std::decay_t<Closure> { return std::forward<Closure>(closure); });
  }
  // The same with the closure made where it stays, so that its operands are copied once.
  template <class Make>
  void run_made(const Make& make) {
    executor_.make_closure(make);
  }

 private:
  Operand tensor_argument(const aclTensor* tensor, const char* name, bool output) {
    ++executor_.parameters;
    return add_operand(tensor, name, output, 0, executor_.parameters - 1);
  }
  [[noreturn]] void refuse_dtype(const Operand& operand, const char* name, DTypeSet wanted) const;
  const aclTensorList& required_list(const aclTensorList* list, const char* name) const;
  Operand add_operand(const aclTensor* tensor, const char* name, bool output, uint32_t element,
                      uint32_t parameter);
  [[noreturn, gnu::cold]] void refuse_tensor(const aclTensor* tensor, const char* name) const;
  [[noreturn, gnu::cold]] void refuse_memory(const aclTensor* tensor, const char* name,
                                             const TensorSlot& slot) const;

  aclOpExecutor& executor_;
  LiveMemory* const live_seen_ = live_seen();
};

}  // namespace softnpu::ops
