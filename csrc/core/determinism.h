// torch.use_deterministic_algorithms: what operators ask of it.
#pragma once

#include <atomic>

namespace mt {

struct Determinism {
  std::atomic<bool> wanted{false};
  std::atomic<bool> warn_only{false};
  std::atomic<bool> fill_memory{true};  // torch.utils.deterministic.fill_uninitialized_memory
};
extern Determinism g_determinism;

inline bool fills_new_memory() {
  return g_determinism.wanted.load(std::memory_order_relaxed) &&
         g_determinism.fill_memory.load(std::memory_order_relaxed);
}

// For an operator whose result depends on the order of its writes: refuses, or warns, while determinism is wanted.
void alert_not_deterministic(const char* caller);

}  // namespace mt
