#include "runtime/registry.h"

#include <map>

#include "base/error.h"

namespace mt::runtime {

void AllocatorRegistry::set(int index, std::shared_ptr<CachingAllocator> allocator) {
  MT_CHECK_AS(value, index >= 0 && index < kMaxDevices, "Device index ", index, " of ", device_type_,
              " is outside 0 … ", kMaxDevices - 1, ".");
  std::lock_guard<std::mutex> guard(mutex_);
  slots_[index].store(allocator.get(), std::memory_order_release);
  owned_.push_back(std::move(allocator));
}

void AllocatorRegistry::set_factory(Factory factory) {
  std::lock_guard<std::mutex> guard(mutex_);
  factory_ = std::move(factory);
}

CachingAllocator& AllocatorRegistry::make(int index) {
  Factory factory;
  {
    std::lock_guard<std::mutex> guard(mutex_);
    factory = factory_;
  }
  MT_CHECK_AS(value, index >= 0 && index < kMaxDevices, "Device index ", index, " of ", device_type_,
              " is outside 0 … ", kMaxDevices - 1, ".");
  MT_CHECK(factory, "No memory allocator for ", device_type_, ":", index,
           ": the backend has not been initialised.");
  // The factory registers what it makes, so that two threads which arrive here together get the same one.
  return *factory(index);
}

AllocatorRegistry& allocators(const std::string& device_type) {
  static auto* mutex = new std::mutex;
  static auto* registries = new std::map<std::string, std::unique_ptr<AllocatorRegistry>>;  // never destroyed
  std::lock_guard<std::mutex> guard(*mutex);
  auto& registry = (*registries)[device_type];
  if (!registry) registry = std::make_unique<AllocatorRegistry>(device_type);
  return *registry;
}

}  // namespace mt::runtime
