#include "ops/common/entry.h"

#include <algorithm>
#include <string_view>

#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/hook.h"
#include "sanitizer/sanitizer.h"
#include "softnpu_control.h"

namespace softnpu::ops {
namespace {

// An executor that is given back unless somebody takes it.
class ExecutorOwner {
 public:
  explicit ExecutorOwner(aclOpExecutor* executor) : executor_(executor) {}
  ExecutorOwner(ExecutorOwner&& other) noexcept : executor_(other.release()) {}
  ~ExecutorOwner() {
    if (executor_ != nullptr) give_executor(executor_);
  }
  aclOpExecutor* get() const { return executor_; }
  aclOpExecutor* release() { return std::exchange(executor_, nullptr); }

 private:
  aclOpExecutor* executor_;
};

std::string tensors_text(const aclOpExecutor& executor) {
  std::string text = "\"tensors\": [";
  for (uint32_t i = 0; i < executor.slot_count; ++i) {
    const TensorSlot& slot = executor.slot(i);
    text += std::string(i == 0 ? "" : ", ") + "{\"address\": \"" + std::to_string(uintptr_t(slot.address)) +
            "\", \"bytes\": " + std::to_string(slot.bytes) +
            ", \"output\": " + (slot.output ? "true" : "false") + "}";
  }
  return text + "]";
}

// Addresses set after the first phase have not been checked, and memory must belong to the stream's device.
int check_addresses(const char* name, const aclOpExecutor& executor, int device) {
  for (uint32_t i = 0; i < executor.slot_count; ++i) {
    const TensorSlot& slot = executor.slot(i);
    if (slot.bytes == 0) continue;
    const char* first = static_cast<const char*>(slot.address) + slot.first_byte;
    const bool live = !executor.addresses_changed || is_live(first, uint64_t(slot.bytes));
    if (!live && sanitizer::on()) sanitizer::refused(name, nullptr, first, uint64_t(slot.bytes), slot.output);
    if (!live)
      return fail(ACLNN_ERR_PARAM_INVALID, name, ": tensor ", i, " at address ", slot.address, " needs ",
                  slot.bytes, " bytes of live device memory");
    if (!can_reach(device_of(first), device))
      return fail(ACLNN_ERR_RUNTIME_ERROR, name, ": tensor ", i, " is on device ", device_of(first),
                  " but the stream is on device ", device);
  }
  return 0;
}

void tell_launch(const char* name, const aclOpExecutor& executor, const Stream& stream) {
  // No views: the operator was planned before the sanitizer was on.
  if (executor.type == nullptr || executor.views.size() != executor.slot_count) return;
  std::vector<sanitizer::Access> accesses;
  for (uint32_t i = 0; i < executor.slot_count; ++i) {
    const SlotView& view = executor.views[i];
    accesses.push_back({static_cast<const char*>(executor.slot(i).address) + view.offset, view.itemsize,
                        executor.slot(i).output, view.argument, view.sizes, view.strides});
  }
  sanitizer::operation(name, &stream, accesses, sanitizer::Effect::computes);
}

}  // namespace

aclnnStatus plan_operator(const OperatorNames& names, uint64_t* workspace_size, aclOpExecutor** executor,
                          PlanFunction plan_function) {
  if (hooked(~0u)) [[unlikely]] {
    if (const int code = on_call(names.first_phase, CallKind::ordinary, "")) return code;
  }
  if (workspace_size == nullptr || executor == nullptr)
    return fail(ACLNN_ERR_PARAM_NULLPTR, names.first_phase, ": workspaceSize and executor must not be NULL");
  ExecutorOwner made(take_executor(names.name));
  try {
    Plan plan(*made.get());
    plan_function(plan);
  } catch (const PlanError& error) {
    return record_failure(error.status, error.what());
  } catch (const std::exception& error) {
    return fail(ACLNN_ERR_PARAM_INVALID, names.name, ": ", error.what());
  }
  *workspace_size = 0;
  *executor = made.release();
  return ACLNN_SUCCESS;
}

aclnnStatus launch_operator(const char* name, void* workspace, uint64_t workspace_size,
                            aclOpExecutor* executor, aclrtStream stream) {
  if (executor == nullptr) return fail(ACLNN_ERR_PARAM_NULLPTR, name, ": executor is NULL");
  // Whatever happens, the executor of a single use ends here, and a repeatable one stays with the caller.
  ExecutorOwner used(executor->repeatable ? copy_executor(*executor) : executor);
  if (hooked(~0u)) [[unlikely]] {
    const std::string args = hooked(kTrace) ? tensors_text(*executor) : std::string();
    if (const int code = on_call(name, CallKind::ordinary, args)) return code;
  }
  if (workspace == nullptr && workspace_size != 0)
    return fail(ACLNN_ERR_PARAM_NULLPTR, name, ": workspace is NULL but its size is ", workspace_size);
  int code = 0;
  Stream* found = use_stream(name, stream, &code);
  if (found == nullptr) return ACLNN_ERR_RUNTIME_ERROR;
  used.get()->addresses_changed = executor->addresses_changed;
  if ((code = check_addresses(name, *used.get(), found->device)) != 0) return code;
  // What a capture records does not run now.
  if (sanitizer::on() && !found->recording()) [[unlikely]]
    tell_launch(name, *used.get(), *found);
  found->submit(name, Task::Kind::work, [owner = std::move(used)] {
    const aclOpExecutor& running = *owner.get();
    if (running.type != nullptr) running.type->run(running.closure, running);
  });
  return ACLNN_SUCCESS;
}

aclnnStatus refuse_call(const char* name) {
  return fail(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, name,
              ": this function is not implemented by the software NPU");
}

}  // namespace softnpu::ops

SOFTNPU_EXPORT int softnpu_implements(const char* operator_name) {
  using softnpu::ops::OperatorEntry;
  const OperatorEntry* end = softnpu::ops::kOperators + softnpu::ops::kOperatorCount;
  const OperatorEntry* found =
      std::lower_bound(softnpu::ops::kOperators, end, std::string_view(operator_name),
                       [](const OperatorEntry& entry, std::string_view name) { return entry.name < name; });
  return found != end && std::string_view(found->name) == operator_name && found->implemented;
}
