#include "runtime/fixed_segments.h"

#include <algorithm>

namespace mt::runtime {

Block* FixedSegments::grow(const MemoryRequest& request, std::string& refusal) {
  const size_t bytes = bytes_for(request);
  if (limit_.refuses(bytes)) {
    refusal = MemoryLimit::kRefusal;
    return nullptr;
  }
  const auto& source = request.pool->options.source;
  const RawMemory raw = source ? source->allocate(bytes, request.stream) : upstream_.allocate(bytes);
  if (!raw.address) {
    refusal = raw.error;
    return nullptr;
  }
  SpinGuard guard(lock_);
  cache_.ledger().count(&AllocatorStats::num_device_alloc);
  return add(raw.address, std::max(raw.size, bytes), request);
}

Block* FixedSegments::add(Address address, size_t bytes, const MemoryRequest& request) {
  Block* segment = cache_.make(address, bytes, request);
  first_blocks_[address] = segment;
  ++segment->pool->segments;
  cache_.ledger().segment_added(segment, request.stack);
  return segment;
}

void FixedSegments::take_out(Block* segment, ReturnedMemory& returned) {
  first_blocks_.erase(segment->ptr);
  --segment->pool->segments;
  cache_.ledger().segment_removed(segment);
  returned.add_segment(segment);
  cache_.recycle(segment);
}

}  // namespace mt::runtime
