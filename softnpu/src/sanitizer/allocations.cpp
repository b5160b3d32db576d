#include "sanitizer/allocations.h"

#include "runtime/error.h"

namespace softnpu::sanitizer {
namespace {

std::string distance_behind(Run range, const Memory& memory) {
  std::ostringstream out;
  if (range.begin >= memory.bytes.end)
    out << "it starts " << range.begin - memory.bytes.end << " bytes behind the end of memory of ";
  else out << "its last " << range.end - memory.bytes.end << " bytes lie behind the end of memory of ";
  out << memory.bytes.end - memory.bytes.begin << " bytes";
  return out.str();
}

std::optional<AddressDefect> examine_inside(Run range, const Memory& memory) {
  if (memory.freed != nullptr)
    return AddressDefect{Defect::use_after_free, "the memory was freed before", memory};
  if (range.end > memory.bytes.end)
    return AddressDefect{Defect::out_of_bounds, distance_behind(range, memory), memory};
  return std::nullopt;
}

// The entry of a map by begin at or before the address; end() if there is none.
template <class Map>
auto at_or_before(Map& map, uintptr_t address) {
  auto after = map.upper_bound(address);
  return after == map.begin() ? map.end() : std::prev(after);
}

}  // namespace

void Allocations::add(uintptr_t begin, uint64_t asked, uint64_t usable, OperationPointer made) {
  // Freed memory whose addresses are handed out again is forgotten.
  auto first = at_or_before(by_begin_, begin);
  if (first == by_begin_.end() || first->first + first->second.usable <= begin)
    first = by_begin_.lower_bound(begin);
  by_begin_.erase(first, by_begin_.lower_bound(begin + usable));
  by_begin_.emplace(std::piecewise_construct, std::forward_as_tuple(begin),
                    std::forward_as_tuple(begin, asked, usable, std::move(made)));
}

Allocation* Allocations::find(uintptr_t address) {
  const auto found = at_or_before(by_begin_, address);
  if (found == by_begin_.end() || address - found->first >= found->second.usable) return nullptr;
  return &found->second;
}

std::optional<AddressDefect> Allocations::examine(Run range) {
  const auto found = at_or_before(by_begin_, range.begin);
  if (found == by_begin_.end())
    return AddressDefect{Defect::out_of_bounds, "no known allocation is at or before this address", {}};
  Allocation& allocation = found->second;
  if (range.begin - found->first >= allocation.usable)
    return AddressDefect{Defect::out_of_bounds, distance_behind(range, allocation.memory), allocation.memory};
  if (auto defect = examine_inside(range, allocation.memory)) return defect;
  if (allocation.parts.empty()) return std::nullopt;
  const auto part = at_or_before(allocation.parts, range.begin);
  if (part == allocation.parts.end())
    return AddressDefect{Defect::out_of_bounds, "its allocator has not handed this memory out",
                         allocation.memory};
  if (range.begin >= part->second.bytes.end)
    return AddressDefect{Defect::out_of_bounds, distance_behind(range, part->second), part->second};
  return examine_inside(range, part->second);
}

void Allocations::free_all(Run range, const OperationPointer& by) {
  for (auto it = by_begin_.lower_bound(range.begin); it != by_begin_.end() && it->first < range.end; ++it)
    if (it->second.live()) it->second.free(by);
}

void mark_used(Allocation& allocation, Run range, OperationPointer by) {
  auto& parts = allocation.parts;
  auto first = at_or_before(parts, range.begin);
  if (first == parts.end() || first->second.bytes.end <= range.begin) first = parts.lower_bound(range.begin);
  parts.erase(first, parts.lower_bound(range.end));
  parts.emplace(range.begin, Memory{range, std::move(by), nullptr});
  allocation.written.set(allocation.offset(range.begin), allocation.offset(range.end), false);
}

void mark_free(Allocation& allocation, Run range, OperationPointer by) {
  auto part = allocation.parts.lower_bound(range.begin);
  if (part == allocation.parts.end() || part->first >= range.end) {
    // Never marked as used: the whole range is known as free from now on.
    allocation.parts.emplace(range.begin, Memory{range, allocation.memory.made, std::move(by)});
    return;
  }
  for (; part != allocation.parts.end() && part->first < range.end; ++part)
    if (part->second.freed == nullptr) part->second.freed = by;
}

}  // namespace softnpu::sanitizer
