// What a release has taken out of the pools and upstream still has to get: collected under the allocator's lock,
// given back without it.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/memory_pool.h"
#include "runtime/upstream.h"

namespace mt::runtime {

class ReturnedMemory {
 public:
  void add_segment(const Block* segment);
  void add_mapping(Address address, MappingHandle mapping, size_t bytes);
  void add_addresses(Address address);  // of a growing segment, after its last mapping

  size_t bytes() const { return bytes_; }
  // Tries everything, then throws the first failure.
  void give_back(Upstream& upstream) const;

 private:
  struct Segment {
    Address address;
    size_t size;
    StreamHandle stream;
    std::shared_ptr<RawSource> source;  // its pool may be gone by then
  };
  std::vector<Segment> segments_;
  std::vector<std::pair<Address, MappingHandle>> mappings_;
  std::vector<Address> addresses_;
  size_t bytes_ = 0;
};

}  // namespace mt::runtime
