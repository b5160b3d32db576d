// An executor: what the first phase of an operator leaves for the second. It holds everything by value
// (views, scalars, a closure), so descriptors may be destroyed as soon as the first phase has returned.
#pragma once

#include <atomic>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "acl_abi.h"
#include "runtime/export.h"

namespace softnpu {

// The storage address of one tensor argument. Closures refer to it by index, so that aclSetTensorAddr can
// change it.
struct TensorSlot {
  void* address;
  int64_t first_byte;  // of the view, from the address
  int64_t bytes;       // that the view spans; 0 when it has no elements
  uint32_t element;    // position in a tensor list, else 0
  uint16_t parameter;  // position among the operator's tensor parameters
  bool output;
};

// The view of a slot, kept while the sanitizer is on.
struct SlotView {
  const char* argument;
  int64_t offset, itemsize;  // bytes
  std::vector<int64_t> sizes, strides;
};

struct ClosureType {
  void (*run)(const void* closure, const aclOpExecutor& executor);
  void (*copy)(const void* from, void* to);
  void (*destroy)(void* closure);
};

}  // namespace softnpu

struct alignas(64) aclOpExecutor {
  static constexpr size_t kClosureBytes = 1536;
  static constexpr uint32_t kInlineSlots = 8;

  const char* name = nullptr;
  const softnpu::ClosureType* type = nullptr;  // nullptr: nothing to do (no elements)
  aclOpExecutor* next = nullptr;               // in the pool
  bool repeatable = false;
  bool addresses_changed = false;
  uint32_t parameters = 0;
  uint32_t slot_count = 0;
  softnpu::TensorSlot inline_slots[kInlineSlots];
  std::vector<softnpu::TensorSlot> more_slots;
  std::vector<softnpu::SlotView> views;  // one per slot, or none
  alignas(16) unsigned char closure[kClosureBytes];

  softnpu::TensorSlot& slot(uint32_t index) {
    return index < kInlineSlots ? inline_slots[index] : more_slots[index - kInlineSlots];
  }
  const softnpu::TensorSlot& slot(uint32_t index) const {
    return const_cast<aclOpExecutor*>(this)->slot(index);
  }
  // A further slot, for the caller to fill in.
  softnpu::TensorSlot& new_slot() {
    const uint32_t index = slot_count++;
    return index < kInlineSlots ? inline_slots[index] : more_slots.emplace_back();
  }

  template <class Make>
  void make_closure(const Make& make) {
    using Stored = std::invoke_result_t<Make>;
    static_assert(sizeof(Stored) <= kClosureBytes && alignof(Stored) <= 16);
    static constexpr softnpu::ClosureType kType{
        [](const void* stored, const aclOpExecutor& executor) {
          (*static_cast<const Stored*>(stored))(executor);
        },
        [](const void* from, void* to) { new (to) Stored(*static_cast<const Stored*>(from)); },
        [](void* stored) { static_cast<Stored*>(stored)->~Stored(); }};
    new (closure) Stored(make());
    type = &kType;
  }
};

namespace softnpu {

// Executors are made by the thread that launches and given back by a stream's thread, so the pool's way back
// is a list that many push to and that a maker takes over as a whole.
SOFTNPU_SHARED aclOpExecutor* take_executor(const char* name);
SOFTNPU_SHARED void give_executor(aclOpExecutor* executor);
// A copy to run while the repeatable original stays with the caller.
SOFTNPU_SHARED aclOpExecutor* copy_executor(const aclOpExecutor& original);

}  // namespace softnpu
