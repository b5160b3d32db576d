// Where a backend finds the caching allocator of a device.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/caching_allocator.h"

namespace mt::runtime {

// The allocators of one kind of device. `at` is one load once an allocator exists, so backends may call it
// for every tensor; the first call for a device goes to the factory.
class AllocatorRegistry {
 public:
  static constexpr int kMaxDevices = 64;
  using Factory = std::function<std::shared_ptr<CachingAllocator>(int index)>;

  explicit AllocatorRegistry(std::string device_type) : device_type_(std::move(device_type)) {}

  CachingAllocator& at(int index) {
    if (index >= 0 && index < kMaxDevices) [[likely]]
      if (CachingAllocator* allocator = slots_[index].load(std::memory_order_acquire)) [[likely]]
        return *allocator;
    return make(index);
  }
  void set(int index, std::shared_ptr<CachingAllocator> allocator);
  void set_factory(Factory factory);

 private:
  CachingAllocator& make(int index);

  const std::string device_type_;
  std::array<std::atomic<CachingAllocator*>, kMaxDevices> slots_{};
  std::mutex mutex_;
  Factory factory_;
  // Kept for ever: tensors may outlive the Python object that owns an allocator.
  std::vector<std::shared_ptr<CachingAllocator>> owned_;
};

// The registry of a device type ("npu"); keep the reference.
AllocatorRegistry& allocators(const std::string& device_type);

}  // namespace mt::runtime
