// A task that can run any number of times: what a capture records.
#pragma once

#include <utility>

namespace softnpu {

struct RepeatableTask {
  virtual ~RepeatableTask() = default;
  virtual void run() = 0;
};

template <class Closure>
struct HeldTask final : RepeatableTask {
  explicit HeldTask(Closure&& held) : closure(std::move(held)) {}
  void run() override { closure(); }
  Closure closure;
};

}  // namespace softnpu
