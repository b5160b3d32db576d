// A device of which nothing exists but the bookkeeping: memory of a given size at made-up addresses, streams whose work
// ends when somebody says so. Histories are replayed on it (replay.h), and the allocator is tested on it.
#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <mutex>
#include <stdexcept>

#include "base/error.h"
#include "runtime/upstream.h"

namespace mt::runtime {

class SimulatedDevice : public Upstream {
 public:
  explicit SimulatedDevice(size_t total) : total_(total) {}

  // Lowest address first, so that a model can predict it.
  RawMemory allocate(size_t bytes) override {
    std::lock_guard<std::mutex> guard(mutex_);
    ++calls.allocate;
    if (fail_next_allocations > 0) {
      --fail_next_allocations;
      return {0, 0, "told to fail"};
    }
    if (used_ + bytes > total_) return {0, 0, "no memory left"};
    Address address = kBase;
    for (const auto& [start, size] : held_) {
      if (start - address >= bytes) break;
      address = start + size;
    }
    return hold(address, bytes);
  }
  void free(Address address) override {
    std::lock_guard<std::mutex> guard(mutex_);
    ++calls.free;
    const auto found = held_.find(address);
    if (found == held_.end()) throw std::logic_error("freed memory that is not held");
    used_ -= found->second;
    held_.erase(found);
  }
  MemoryInfo memory_info() override {
    std::lock_guard<std::mutex> guard(mutex_);
    ++calls.memory_info;
    return {total_ - used_, total_};
  }
  void synchronize() override {
    std::lock_guard<std::mutex> guard(mutex_);
    ++calls.synchronize;
    for (auto& [event, state] : events_) state.complete = true;
  }
  EventHandle record_event(StreamHandle stream) override {
    std::lock_guard<std::mutex> guard(mutex_);
    ++calls.record_event;
    if (fail_events) fail(ErrorKind::runtime, "told to fail");
    events_[next_event_] = {stream, always_complete};
    return next_event_++;
  }
  bool event_is_complete(EventHandle event) override {
    std::lock_guard<std::mutex> guard(mutex_);
    ++calls.event_is_complete;
    return events_.at(event).complete;
  }
  void release_event(EventHandle event) noexcept override {
    std::lock_guard<std::mutex> guard(mutex_);
    events_.erase(event);
  }

  bool has_virtual_memory() override { return virtual_memory; }
  Address reserve(size_t bytes) override {
    std::lock_guard<std::mutex> guard(mutex_);
    if (!virtual_memory) return 0;
    const Address address = next_range_;
    next_range_ += bytes;
    ranges_[address] = bytes;
    return address;
  }
  void unreserve(Address address) override {
    std::lock_guard<std::mutex> guard(mutex_);
    const auto found = ranges_.find(address);
    if (found == ranges_.end()) throw std::logic_error("gave back addresses that are not reserved");
    const auto mapped = mapped_.lower_bound(address);
    if (mapped != mapped_.end() && mapped->first < address + found->second)
      throw std::logic_error("gave back addresses with memory behind them");
    ranges_.erase(found);
  }
  Mapping map(Address at, size_t bytes) override {
    std::lock_guard<std::mutex> guard(mutex_);
    ++calls.map;
    const auto range = ranges_.upper_bound(at);
    if (range == ranges_.begin() || at + bytes > std::prev(range)->first + std::prev(range)->second)
      throw std::logic_error("mapped memory outside the reserved addresses");
    if (mapped_.count(at)) throw std::logic_error("mapped the same addresses twice");
    if (used_ + bytes > total_) return {0, "no memory left"};
    used_ += bytes;
    mapped_[at] = {next_mapping_, bytes};
    return {next_mapping_++, {}};
  }
  void unmap(Address at, MappingHandle handle) override {
    std::lock_guard<std::mutex> guard(mutex_);
    const auto found = mapped_.find(at);
    if (found == mapped_.end() || found->second.first != handle)
      throw std::logic_error("unmapped what is not mapped");
    used_ -= found->second.second;
    mapped_.erase(found);
  }
  size_t reserved_ranges() const { return ranges_.size(); }

  // The stream gets to where it is now.
  void finish(StreamHandle stream) {
    std::lock_guard<std::mutex> guard(mutex_);
    for (auto& [event, state] : events_)
      if (state.stream == stream) state.complete = true;
  }
  // Somebody holds this memory already.
  void adopt(Address address, size_t bytes) {
    std::lock_guard<std::mutex> guard(mutex_);
    hold(address, bytes);
  }
  size_t used() const { return used_; }
  size_t live_events() const { return events_.size(); }

  static constexpr Address kBase = 0x10000000;
  struct {
    int allocate = 0, free = 0, memory_info = 0, synchronize = 0, record_event = 0, event_is_complete = 0,
        map = 0;
  } calls;
  int fail_next_allocations = 0;
  bool fail_events = false;
  bool always_complete = false;
  bool virtual_memory = true;

 protected:
  // At this address, or elsewhere if somebody has it.
  Address reserve_at(Address address, size_t bytes) {
    {
      std::lock_guard<std::mutex> guard(mutex_);
      const auto after = ranges_.lower_bound(address);
      const bool meets_next = after != ranges_.end() && after->first < address + bytes;
      const bool meets_last =
          after != ranges_.begin() && std::prev(after)->first + std::prev(after)->second > address;
      if (!meets_next && !meets_last) {
        ranges_[address] = bytes;
        return address;
      }
    }
    return SimulatedDevice::reserve(bytes);
  }
  // With the mutex held.
  RawMemory hold(Address address, size_t bytes) {
    held_[address] = bytes;
    used_ += bytes;
    return {address, bytes, {}};
  }
  std::mutex mutex_;

 private:
  struct EventState {
    StreamHandle stream;
    bool complete;
  };
  const size_t total_;
  size_t used_ = 0;
  std::map<Address, size_t> held_;
  std::map<Address, size_t> ranges_;
  std::map<Address, std::pair<MappingHandle, size_t>> mapped_;
  MappingHandle next_mapping_ = 1;
  Address next_range_ = Address(1) << 40;
  std::map<EventHandle, EventState> events_;
  EventHandle next_event_ = 1;
};

}  // namespace mt::runtime
