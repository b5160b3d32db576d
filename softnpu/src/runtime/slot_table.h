// Handles that can be checked: a handle is the address of a slot in a fixed table, so a destroyed or made-up
// handle is recognised without touching freed memory. Slots are reused oldest first, to catch stale handles
// for long.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

namespace softnpu {

template <class T, size_t kCapacity>
class SlotTable {
 public:
  // nullptr when the table is full; the caller keeps the object then.
  void* insert(T* object) {
    std::lock_guard lock(mutex_);
    size_t index;
    if (used_ < kCapacity) {
      index = used_++;
    } else if (!free_.empty()) {
      index = free_.front();
      free_.pop_front();
    } else {
      return nullptr;
    }
    ++live_;
    slots_[index].store(object, std::memory_order_release);
    return &slots_[index];
  }

  T* find(void* handle) const {
    const uintptr_t offset = uintptr_t(handle) - uintptr_t(&slots_[0]);
    if (offset >= sizeof slots_ || offset % sizeof slots_[0] != 0) return nullptr;
    return static_cast<const std::atomic<T*>*>(handle)->load(std::memory_order_acquire);
  }

  // Takes the object out; nullptr if the handle was not live (two racing destroys: one gets it).
  T* remove(void* handle) {
    if (find(handle) == nullptr) return nullptr;
    T* object = static_cast<std::atomic<T*>*>(handle)->exchange(nullptr);
    if (object == nullptr) return nullptr;
    std::lock_guard lock(mutex_);
    --live_;
    free_.push_back(size_t(static_cast<std::atomic<T*>*>(handle) - slots_));
    return object;
  }

  // Takes out every object that `chosen` holds for and hands it to `take`.
  template <class Chosen, class Take>
  void remove_if(const Chosen& chosen, const Take& take) {
    size_t used;
    {
      std::lock_guard lock(mutex_);
      used = used_;
    }
    for (size_t i = 0; i < used; ++i) {
      T* object = slots_[i].load(std::memory_order_acquire);
      if (object == nullptr || !chosen(*object)) continue;
      if (T* removed = remove(&slots_[i])) take(removed);
    }
  }

  size_t live() const {
    std::lock_guard lock(mutex_);
    return live_;
  }

 private:
  mutable std::mutex mutex_;
  size_t used_ = 0;
  size_t live_ = 0;
  std::deque<size_t> free_;
  std::atomic<T*> slots_[kCapacity] = {};
};

}  // namespace softnpu
