#include "runtime/returned_memory.h"

#include <exception>

namespace mt::runtime {

void ReturnedMemory::add_segment(const Block* segment) {
  segments_.push_back({segment->ptr, segment->size, segment->stream, segment->pool->options.source});
  bytes_ += segment->size;
}

void ReturnedMemory::add_mapping(Address address, MappingHandle mapping, size_t bytes) {
  mappings_.emplace_back(address, mapping);
  bytes_ += bytes;
}

void ReturnedMemory::add_addresses(Address address) { addresses_.push_back(address); }

void ReturnedMemory::give_back(Upstream& upstream) const {
  // One address that the driver refuses must not keep the others.
  std::exception_ptr first_failure;
  const auto attempt = [&](auto&& call) {
    try {
      call();
    } catch (...) {
      if (!first_failure) first_failure = std::current_exception();
    }
  };
  for (const Segment& segment : segments_)
    attempt([&] {
      if (segment.source) segment.source->free(segment.address, segment.size, segment.stream);
      else upstream.free(segment.address);
    });
  for (const auto& [address, mapping] : mappings_)
    attempt([&, at = address, handle = mapping] { upstream.unmap(at, handle); });
  for (Address address : addresses_) attempt([&] { upstream.unreserve(address); });
  if (first_failure) std::rethrow_exception(first_failure);
}

}  // namespace mt::runtime
