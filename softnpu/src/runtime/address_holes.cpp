#include "runtime/address_holes.h"

namespace softnpu {

void AddressHoles::insert(uintptr_t begin, uint64_t size) {
  if (size == 0) return;
  auto next = holes_.lower_bound(begin);
  if (next != holes_.end() && begin + size == next->first) {
    size += next->second;
    const auto merged = next++;
    erase(merged);
  }
  if (next != holes_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      begin = before->first;
      size += before->second;
      erase(before);
    }
  }
  holes_.emplace(begin, size);
  by_size_.emplace(size, begin);
}

bool AddressHoles::take(uint64_t size, uint64_t alignment, uintptr_t* begin) {
  for (auto fit = by_size_.lower_bound({size, 0}); fit != by_size_.end(); ++fit) {
    const auto [hole_size, hole] = *fit;
    const uintptr_t at = (hole + alignment - 1) / alignment * alignment;
    if (at - hole > hole_size - size) continue;
    erase(holes_.find(hole));
    insert(hole, at - hole);
    insert(at + size, hole + hole_size - at - size);
    *begin = at;
    return true;
  }
  return false;
}

void AddressHoles::erase(std::map<uintptr_t, uint64_t>::iterator hole) {
  by_size_.erase({hole->second, hole->first});
  holes_.erase(hole);
}

}  // namespace softnpu
