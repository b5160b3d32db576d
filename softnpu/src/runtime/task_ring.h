// The queue of a stream: bounded, lock-free, many producers and one consumer. A task lives in its slot, so
// handing one over allocates nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "runtime/fetch_ahead.h"

namespace softnpu {

struct Task {
  static constexpr size_t kPayloadBytes = 144;
  enum class Kind : uint32_t { work, order };  // `order` tasks (events, callbacks) take no device time

  // Runs the payload (or drops it, when a stream is destroyed by force) and destroys it.
  void (*invoke)(void* payload, bool execute);
  const char* name;  // the operator or function that errors are reported under
  Kind kind;
  alignas(16) unsigned char payload[kPayloadBytes];
};

// Each slot has a turn number: `position` means free for the producer at that position, `position + 1` means
// filled and ready for the consumer, and the consumer then adds the ring's size for the next round.
class TaskRing {
 public:
  static constexpr uint64_t kSlots = 1024;

  TaskRing() : slots_(new Slot[kSlots]) {
    for (uint64_t i = 0; i < kSlots; ++i) slots_[i].turn.store(i, std::memory_order_relaxed);
  }

  // Returns false when the ring is full. `*ticket` is the number of tasks that will have finished after this
  // one. The closure is only consumed on success.
  template <class Closure>
  bool try_push(const char* name, Task::Kind kind, Closure& closure, uint64_t* ticket) {
    static_assert(sizeof(Closure) <= Task::kPayloadBytes && alignof(Closure) <= 16);
    static_assert(std::is_nothrow_move_constructible_v<Closure>);
    uint64_t position = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = slots_[position % kSlots];
      const uint64_t turn = slot.turn.load(std::memory_order_acquire);
      if (turn == position) {
        if (!tail_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed)) continue;
        slot.task.invoke = [](void* payload, bool execute) {
          struct Owner {
            Closure* closure;
            ~Owner() { closure->~Closure(); }
          } owner{std::launder(static_cast<Closure*>(payload))};
          if (execute) (*owner.closure)();
        };
        slot.task.name = name;
        slot.task.kind = kind;
        new (slot.task.payload) Closure(std::move(closure));
        // Sequentially consistent with Stream's check for a sleeping consumer: one of the two sees the other.
        slot.turn.store(position + 1, std::memory_order_seq_cst);
        *ticket = position + 1;
        fetch_ahead(&slots_[(position + 1) % kSlots], kCacheLine);
        return true;
      }
      if (turn < position) return false;
      position = tail_.load(std::memory_order_relaxed);
    }
  }

  // For the consumer only.
  bool has_task() const { return slots_[head_ % kSlots].turn.load(std::memory_order_seq_cst) == head_ + 1; }
  Task& front() { return slots_[head_ % kSlots].task; }
  void pop() {
    slots_[head_ % kSlots].turn.store(head_ + kSlots, std::memory_order_release);
    ++head_;
  }
  uint64_t consumed() const { return head_; }

  // How many tasks have been handed over so far.
  uint64_t pushed() const { return tail_.load(std::memory_order_acquire); }

 private:
  struct alignas(64) Slot {
    std::atomic<uint64_t> turn;
    Task task;
  };

  std::unique_ptr<Slot[]> slots_;
  alignas(64) std::atomic<uint64_t> tail_{0};
  alignas(64) uint64_t head_ = 0;
};

}  // namespace softnpu
