// Plans of NVIDIA's libraries by what they depend on.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "backends/cuda/launch_queue.h"

namespace mt::cuda {

// Of one thread (PerThread): calls write to their plans. A shape is whole words without gaps, and compared as bytes.
// Calls that are queued have their plans before these go.
template <class Shape, class Plan, size_t kMost>
class PlanCache {
 public:
  PlanCache() = default;
  PlanCache(const PlanCache&) = delete;
  ~PlanCache() { wait_for_launch_queues(); }

  // A plan that was not asked for before is made by `make`. It stays valid until the next call.
  template <class Make>
  Plan& find(const Shape& shape, const Make& make) {
    if (const auto found = plans_.find(shape); found != plans_.end()) [[likely]]
      return found->second;
    Plan plan = make();
    if (plans_.size() >= kMost) {  // shapes that never come back do not pile up
      wait_for_launch_queues();
      plans_.clear();
    }
    return plans_.emplace(shape, std::move(plan)).first->second;
  }

 private:
  struct Hash {
    size_t operator()(const Shape& shape) const noexcept {
      static_assert(sizeof(Shape) % 8 == 0 && std::has_unique_object_representations_v<Shape>);
      uint64_t words[sizeof(Shape) / 8];
      std::memcpy(words, &shape, sizeof shape);
      uint64_t hash = 0;
      for (uint64_t word : words) {
        hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 32;
      }
      return size_t(hash);
    }
  };
  std::unordered_map<Shape, Plan, Hash> plans_;
};

}  // namespace mt::cuda
