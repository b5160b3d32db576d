#include "nnopbase/executor.h"

#include "nnopbase/objects.h"
#include "runtime/error.h"
#include "runtime/fetch_ahead.h"
#include "runtime/hook.h"

namespace softnpu {
namespace {

std::atomic<aclOpExecutor*> returned{nullptr};

struct OwnList {
  aclOpExecutor* first;
  bool ended;
};
thread_local OwnList own = {};

void push_chain(aclOpExecutor* first, aclOpExecutor* last) {
  last->next = returned.load(std::memory_order_relaxed);
  while (!returned.compare_exchange_weak(last->next, first, std::memory_order_release,
                                         std::memory_order_relaxed)) {}
}

// With only a few executors a program whose operators run at once would always be given one that another core
// has just touched.
constexpr int kMadeAtOnce = 32;

aclOpExecutor* new_chain(int count) {
  aclOpExecutor* first = nullptr;
  for (int i = 0; i < count; ++i) {
    auto* executor = new aclOpExecutor;
    executor->next = std::exchange(first, executor);
  }
  return first;
}

// What an operator with a few small operands writes.
constexpr size_t kFetchedBytes = 896;

// A thread that ends leaves its executors to the others.
struct Cleanup {
  void arm() {}
  ~Cleanup() {
    own.ended = true;
    if (own.first == nullptr) return;
    aclOpExecutor* last = own.first;
    while (last->next != nullptr) last = last->next;
    push_chain(std::exchange(own.first, nullptr), last);
  }
};
thread_local Cleanup cleanup;

// Finds the slot by position: among inputs, among outputs, or among all.
enum class Among { all, inputs, outputs };

aclnnStatus set_address(const char* function, aclOpExecutor* executor, size_t index, size_t element,
                        const void* handle, void* address, Among among) {
  if (executor == nullptr || handle == nullptr)
    return fail(ACLNN_ERR_PARAM_NULLPTR, function, ": an argument is NULL");
  size_t position = 0;
  for (uint32_t i = 0; i < executor->slot_count; ++i) {
    TensorSlot& slot = executor->slot(i);
    if (among != Among::all && slot.output != (among == Among::outputs)) continue;
    const bool last_of_parameter =
        i + 1 == executor->slot_count || executor->slot(i + 1).parameter != slot.parameter;
    if (position == index && slot.element == element) {
      slot.address = address;
      executor->addresses_changed = true;
      return ACLNN_SUCCESS;
    }
    if (last_of_parameter) ++position;
  }
  return fail(ACLNN_ERR_PARAM_INVALID, function, ": ", executor->name, " has no tensor at position ", index,
              ", element ", element);
}

}  // namespace

aclOpExecutor* take_executor(const char* name) {
  aclOpExecutor* executor = own.first;
  if (executor == nullptr) [[unlikely]] {
    executor = returned.exchange(nullptr, std::memory_order_acquire);
    if (executor == nullptr) executor = new_chain(own.ended ? 1 : kMadeAtOnce);
    if (own.ended) {  // the list would not be handed on: keep only the one that is needed
      if (executor->next != nullptr) {
        aclOpExecutor* last = executor->next;
        while (last->next != nullptr) last = last->next;
        push_chain(executor->next, last);
        executor->next = nullptr;
      }
    } else {
      cleanup.arm();
    }
  }
  own.first = executor->next;
  // Its lines lie in the cache of the core that ran it last; they come over while this one is being used.
  if (own.first != nullptr) fetch_ahead(own.first, kFetchedBytes);
  executor->next = nullptr;
  executor->name = name;
  return executor;
}

void give_executor(aclOpExecutor* executor) {
  if (executor->type != nullptr) executor->type->destroy(executor->closure);
  executor->type = nullptr;
  executor->repeatable = executor->addresses_changed = false;
  executor->parameters = executor->slot_count = 0;
  executor->more_slots.clear();
  executor->views.clear();
  push_chain(executor, executor);
}

aclOpExecutor* copy_executor(const aclOpExecutor& original) {
  aclOpExecutor* copy = take_executor(original.name);
  for (uint32_t i = 0; i < original.slot_count; ++i) copy->new_slot() = original.slot(i);
  copy->parameters = original.parameters;
  copy->views = original.views;
  if (original.type != nullptr) {
    original.type->copy(original.closure, copy->closure);
    copy->type = original.type;
  }
  return copy;
}

}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  SOFTNPU_ENTER(aclSetAclOpExecutorRepeatable, executor);
  if (executor == nullptr)
    return fail(ACLNN_ERR_PARAM_NULLPTR, "aclSetAclOpExecutorRepeatable: executor is NULL");
  executor->repeatable = true;
  return ACLNN_SUCCESS;
}

SOFTNPU_EXPORT aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  SOFTNPU_ENTER_CLEANUP(aclDestroyAclOpExecutor, executor);
  if (executor == nullptr) return fail(ACLNN_ERR_PARAM_NULLPTR, "aclDestroyAclOpExecutor: executor is NULL");
  give_executor(executor);
  return ACLNN_SUCCESS;
}

// Each function exists under two spellings.
#define SOFTNPU_SET_ADDRESS(name, among)                                                          \
  SOFTNPU_EXPORT aclnnStatus name(aclOpExecutor* executor, const size_t index, aclTensor* tensor, \
                                  void* addr) {                                                   \
    SOFTNPU_ENTER(name, executor, index, tensor, addr);                                           \
    return set_address(#name, executor, index, 0, tensor, addr, Among::among);                    \
  }
SOFTNPU_SET_ADDRESS(aclSetTensorAddr, all)
SOFTNPU_SET_ADDRESS(AclSetTensorAddr, all)
SOFTNPU_SET_ADDRESS(aclSetInputTensorAddr, inputs)
SOFTNPU_SET_ADDRESS(AclSetInputTensorAddr, inputs)
SOFTNPU_SET_ADDRESS(aclSetOutputTensorAddr, outputs)
SOFTNPU_SET_ADDRESS(AclSetOutputTensorAddr, outputs)

#define SOFTNPU_SET_LIST_ADDRESS(name, among)                                                          \
  SOFTNPU_EXPORT aclnnStatus name(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex, \
                                  aclTensorList* tensors, void* addr) {                                \
    SOFTNPU_ENTER(name, executor, irIndex, relativeIndex, tensors, addr);                              \
    return set_address(#name, executor, irIndex, relativeIndex, tensors, addr, Among::among);          \
  }
SOFTNPU_SET_LIST_ADDRESS(aclSetDynamicTensorAddr, all)
SOFTNPU_SET_LIST_ADDRESS(AclSetDynamicTensorAddr, all)
SOFTNPU_SET_LIST_ADDRESS(aclSetDynamicInputTensorAddr, inputs)
SOFTNPU_SET_LIST_ADDRESS(AclSetDynamicInputTensorAddr, inputs)
SOFTNPU_SET_LIST_ADDRESS(aclSetDynamicOutputTensorAddr, outputs)
SOFTNPU_SET_LIST_ADDRESS(AclSetDynamicOutputTensorAddr, outputs)
