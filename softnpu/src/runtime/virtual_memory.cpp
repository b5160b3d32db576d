#include "runtime/virtual_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "runtime/device.h"

namespace softnpu {

PhysicalMemory::~PhysicalMemory() {
  if (foreign == nullptr) softnpu::device(device).memory.release_physical(offset, generation);
}

int PhysicalMemory::file() const {
  return foreign == nullptr ? softnpu::device(device).memory.file() : foreign->descriptor();
}

void VirtualAddresses::open(uintptr_t begin, uintptr_t end) {
  std::unique_lock lock(mutex_);
  begin_ = begin;
  bytes_ = end - begin;
  holes_.insert(begin, bytes_);
}

std::string VirtualAddresses::reserve(uint64_t size, uint64_t alignment, void** address) {
  std::unique_lock lock(mutex_);
  uintptr_t begin;
  if (size > bytes_ || !holes_.take(size, alignment, &begin))
    return "no " + std::to_string(size) + " free addresses are left of " + std::to_string(bytes_);
  reservations_.emplace(begin, size);
  *address = reinterpret_cast<void*>(begin);
  return {};
}

std::string VirtualAddresses::release(void* address) {
  std::unique_lock lock(mutex_);
  const auto found = reservations_.find(uintptr_t(address));
  if (found == reservations_.end()) return "is not the start of a reserved range";
  const auto [begin, size] = *found;
  const auto inside = mappings_.lower_bound(begin);
  if (inside != mappings_.end() && inside->first < begin + size)
    return "still has memory mapped; unmap it first";
  reservations_.erase(found);
  holes_.insert(begin, size);
  return {};
}

// The mapping whose pages hold the address, or the end.
VirtualAddresses::Mappings::const_iterator VirtualAddresses::around(uintptr_t address) const {
  auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return mappings_.end();
  --after;
  return address < after->second.end ? after : mappings_.end();
}

std::string VirtualAddresses::map_pages(uintptr_t begin, std::shared_ptr<PhysicalMemory> memory) {
  const uintptr_t inside_page = memory->offset % page_bytes();
  const uint64_t bytes = (inside_page + memory->size + page_bytes() - 1) / page_bytes() * page_bytes();
  void* mirror = host_address(reinterpret_cast<void*>(begin));
  if (mmap(mirror, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, memory->file(),
           off_t(memory->offset - inside_page)) != mirror)
    return std::string("the system cannot map it: ") + std::strerror(errno);
  madvise(mirror, bytes, MADV_DONTDUMP);
  const uintptr_t first = begin + inside_page;
  mappings_[begin] = {begin + bytes, first, first + memory->size, std::move(memory)};
  return {};
}

// A task may still be using the memory: it gets pages of its own, which lead nowhere, instead of a crash.
void VirtualAddresses::unmap_pages(Mappings::const_iterator mapping) {
  void* mirror = host_address(reinterpret_cast<void*>(mapping->first));
  const uint64_t bytes = mapping->second.end - mapping->first;
  mmap(mirror, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  mappings_.erase(mapping);
  forget_live_memory();
}

std::string VirtualAddresses::map(void* address, std::shared_ptr<PhysicalMemory> memory) {
  const uintptr_t begin = uintptr_t(address), end = begin + memory->size;
  if (begin % page_bytes() != 0) return "is not at the start of a page";
  std::unique_lock lock(mutex_);
  auto range = reservations_.upper_bound(begin);
  if (range == reservations_.begin() || (--range, end > range->first + range->second))
    return "is not inside one reserved range (see aclrtReserveMemAddress)";
  const auto next = mappings_.lower_bound(begin);
  if (around(begin) != mappings_.end() || (next != mappings_.end() && next->first < end))
    return "has memory mapped already";
  return map_pages(begin, std::move(memory));
}

std::string VirtualAddresses::unmap(void* address) {
  std::shared_ptr<PhysicalMemory> last;  // given back without the lock
  std::unique_lock lock(mutex_);
  const auto found = mappings_.find(uintptr_t(address));
  if (found == mappings_.end()) return "is not where aclrtMapMem has mapped memory";
  last = found->second.memory;
  unmap_pages(found);
  lock.unlock();
  return {};
}

std::string VirtualAddresses::map_anywhere(std::shared_ptr<PhysicalMemory> memory, void** address) {
  const uint64_t inside_page = memory->offset % page_bytes();
  const uint64_t bytes = (inside_page + memory->size + page_bytes() - 1) / page_bytes() * page_bytes();
  void* begin = nullptr;
  std::string problem = reserve(bytes, page_bytes(), &begin);
  if (!problem.empty()) return problem;
  {
    std::unique_lock lock(mutex_);
    problem = map_pages(uintptr_t(begin), std::move(memory));
  }
  if (!problem.empty()) {
    release(begin);
    return problem;
  }
  *address = static_cast<char*>(begin) + inside_page;
  return {};
}

void VirtualAddresses::unmap_anywhere(void* address) {
  void* begin = reinterpret_cast<void*>(uintptr_t(address) / page_bytes() * page_bytes());
  unmap(begin);
  release(begin);
}

void VirtualAddresses::release_all() {
  Mappings ended;  // given back without the lock
  std::unique_lock lock(mutex_);
  ended = mappings_;
  while (!mappings_.empty()) unmap_pages(mappings_.cbegin());
  for (const auto& [begin, size] : reservations_) holes_.insert(begin, size);
  reservations_.clear();
  lock.unlock();
}

bool VirtualAddresses::find(const void* address, uintptr_t* begin, uintptr_t* end) const {
  const uintptr_t at = uintptr_t(address);
  std::shared_lock lock(mutex_);
  const auto found = around(at);
  if (found == mappings_.end() || at < found->second.first_live || at >= found->second.end_of_live)
    return false;
  *begin = found->second.first_live;
  *end = found->second.end_of_live;
  // Neighbours count only inside the same reservation: others may be released at any time.
  auto range = reservations_.upper_bound(at);
  if (range == reservations_.begin()) return true;
  --range;
  const uintptr_t first = range->first, last = range->first + range->second;
  for (auto before = found; *begin > first && before != mappings_.cbegin();) {
    --before;
    if (before->second.end_of_live != *begin) break;
    *begin = before->second.first_live;
  }
  for (auto after = std::next(found); after != mappings_.cend() && *end < last; ++after) {
    if (after->second.first_live != *end) break;
    *end = after->second.end_of_live;
  }
  return true;
}

std::shared_ptr<PhysicalMemory> VirtualAddresses::mapped_at(const void* address) const {
  std::shared_lock lock(mutex_);
  const auto found = around(uintptr_t(address));
  return found == mappings_.end() ? nullptr : found->second.memory;
}

}  // namespace softnpu
