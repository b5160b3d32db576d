// The free parts of a range of addresses: best fit, neighbours merge. Not thread-safe; the owner locks.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace softnpu {

class AddressHoles {
 public:
  // Adds a free part and merges it with its neighbours.
  void insert(uintptr_t begin, uint64_t size);
  // Takes `size` bytes at a multiple of `alignment` out of the smallest hole that has them; false if none has.
  bool take(uint64_t size, uint64_t alignment, uintptr_t* begin);

 private:
  void erase(std::map<uintptr_t, uint64_t>::iterator hole);

  std::map<uintptr_t, uint64_t> holes_;
  std::set<std::pair<uint64_t, uintptr_t>> by_size_;
};

}  // namespace softnpu
