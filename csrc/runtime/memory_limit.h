// How much of a device this process may hold.
#pragma once

#include <cstddef>

#include "runtime/alloc_conf.h"
#include "runtime/ledger.h"
#include "runtime/spin_lock.h"
#include "runtime/upstream.h"

namespace mt::runtime {

// Called without the allocator's lock: a part of the device (memory_fraction) is known by asking upstream.
class MemoryLimit {
 public:
  static constexpr const char* kRefusal = "the limit of this process is reached";

  MemoryLimit(Upstream& upstream, SpinLock& lock, const AllocatorSettings& settings, const Ledger& ledger)
      : upstream_(upstream), lock_(lock), settings_(settings), ledger_(ledger) {}
  MemoryLimit(const MemoryLimit&) = delete;

  void set(size_t bytes);  // kUnlimited: none
  size_t bytes() const;    // the smaller of the part and what was set, kUnlimited for none
  // With `more` reserved the process would pass it.
  bool refuses(size_t more) const;

 private:
  Upstream& upstream_;
  SpinLock& lock_;
  const AllocatorSettings& settings_;
  const Ledger& ledger_;
  size_t set_ = kUnlimited;
};

}  // namespace mt::runtime
