#include "runtime/memory_limit.h"

#include <algorithm>

namespace mt::runtime {

void MemoryLimit::set(size_t bytes) {
  SpinGuard guard(lock_);
  set_ = bytes;
}

size_t MemoryLimit::bytes() const {
  double fraction;
  size_t limit;
  {
    SpinGuard guard(lock_);
    fraction = settings_.memory_fraction;
    limit = set_;
  }
  if (fraction >= 1) return limit;
  return std::min(limit, size_t(fraction * double(upstream_.memory_info().total)));
}

bool MemoryLimit::refuses(size_t more) const {
  const size_t limit = bytes();
  if (limit == kUnlimited) return false;
  SpinGuard guard(lock_);
  return ledger_.reserved() + more > limit;
}

}  // namespace mt::runtime
