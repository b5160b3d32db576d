#include "runtime/device_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "runtime/config.h"
#include "runtime/device.h"
#include "sanitizer/sanitizer.h"

namespace softnpu {

AddressSpace address_space;

namespace {

constexpr uint64_t kGranularity = 512;
// Pages of a freed block this large go back to the system; smaller ones are likely to be used again soon.
constexpr uint64_t kReturnPagesFrom = uint64_t(1) << 20;

std::atomic<uint64_t> free_epoch{1};  // changes whenever an allocation ends

void fill(uintptr_t address, uint64_t bytes, int value) {
  std::memset(host_address(reinterpret_cast<void*>(address)), value, bytes);
}

void return_pages(uintptr_t address, uint64_t bytes) {
  static const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
  const uintptr_t mirror = address + address_space.mirror_delta;
  const uintptr_t first = (mirror + page - 1) / page * page, last = (mirror + bytes) / page * page;
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace

bool reserve_address_space(uint32_t devices, uint64_t capacity, std::string* problem) {
  // Twice the capacity, so that fragmentation of addresses is not what ends a program: a card maps pages
  // anywhere.
  int shift = 21;
  while ((uint64_t(1) << shift) < 2 * capacity) ++shift;
  const uint64_t bytes = uint64_t(devices) << shift;
  auto reserve = [&](int protection) {
    void* range = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) {
      *problem = "cannot reserve " + std::to_string(bytes >> 20) + " MiB of addresses for " +
                 std::to_string(devices) + " device(s): " + std::strerror(errno) +
                 "; set SOFTNPU_MEMORY or SOFTNPU_DEVICES lower, or raise the limit (ulimit -v)";
      return uintptr_t(0);
    }
    madvise(range, bytes, MADV_DONTDUMP);
    return uintptr_t(range);
  };
  const uintptr_t visible = reserve(PROT_NONE);
  if (visible == 0) return false;
  const uintptr_t mirror = reserve(PROT_READ | PROT_WRITE);
  if (mirror == 0) {
    munmap(reinterpret_cast<void*>(visible), bytes);
    return false;
  }
  address_space = {visible, bytes, shift, ptrdiff_t(mirror - visible)};
  return true;
}

bool is_live(const void* address, uint64_t bytes) {
  struct Seen {
    uint64_t epoch;
    uintptr_t begin, end;
  };
  thread_local Seen seen[8] = {};
  const uintptr_t at = uintptr_t(address);
  Seen& mine = seen[(at >> 21) & 7];
  const uint64_t epoch = free_epoch.load(std::memory_order_acquire);
  if (mine.epoch != epoch || at < mine.begin || at >= mine.end) {
    DeviceMemory::Block block;
    uintptr_t begin;
    if (!is_device_address(address) || !device(device_of(address)).memory.find(address, &begin, &block))
      return false;
    mine = {epoch, begin, begin + block.requested};
  }
  return bytes <= mine.end - at;
}

void DeviceMemory::open(uintptr_t base, uintptr_t range, uint64_t capacity) {
  std::unique_lock lock(mutex_);
  capacity_ = capacity;
  insert_hole(base, range);
}

void* DeviceMemory::allocate(uint64_t requested) {
  if (requested > capacity_) return nullptr;
  const uint64_t size = (requested + kGranularity - 1) / kGranularity * kGranularity;
  std::unique_lock lock(mutex_);
  if (size > capacity_ - used_) return nullptr;
  auto fit = holes_by_size_.lower_bound({size, 0});
  while (fit == holes_by_size_.end() && !quarantine_.empty()) {
    end_quarantine();
    fit = holes_by_size_.lower_bound({size, 0});
  }
  if (fit == holes_by_size_.end()) return nullptr;
  const auto [hole_size, begin] = *fit;
  erase_hole(holes_.find(begin));
  if (hole_size > size) insert_hole(begin + size, hole_size - size);
  blocks_.emplace(begin, Block{requested, size});
  used_ += size;
  lock.unlock();
  if (config().poison.load(std::memory_order_relaxed)) fill(begin, size, 0xFF);
  return reinterpret_cast<void*>(begin);
}

bool DeviceMemory::release(void* address) {
  uint64_t size;
  {
    std::unique_lock lock(mutex_);
    const auto block = blocks_.find(uintptr_t(address));
    if (block == blocks_.end()) return false;
    size = block->second.reserved;
    blocks_.erase(block);
    free_epoch.fetch_add(1, std::memory_order_release);
  }
  // Before the addresses can be handed out again, and without the lock: both can take a while.
  if (config().poison.load(std::memory_order_relaxed)) fill(uintptr_t(address), size, 0xFE);
  else if (size >= kReturnPagesFrom) return_pages(uintptr_t(address), size);
  std::unique_lock lock(mutex_);
  used_ -= size;
  if (sanitizer::keeps_freed_addresses()) {
    quarantine_.emplace_back(uintptr_t(address), size);
    quarantined_ += size;
    while (quarantined_ > capacity_ / 2) end_quarantine();
  } else {
    insert_hole(uintptr_t(address), size);
  }
  return true;
}

// The block that was freed first can be handed out again.
void DeviceMemory::end_quarantine() {
  const auto [begin, size] = quarantine_.front();
  quarantine_.pop_front();
  quarantined_ -= size;
  insert_hole(begin, size);
}

void DeviceMemory::release_all() {
  std::unique_lock lock(mutex_);
  free_epoch.fetch_add(1, std::memory_order_release);
  for (const auto& [begin, block] : blocks_) {
    return_pages(begin, block.reserved);
    insert_hole(begin, block.reserved);
  }
  blocks_.clear();
  while (!quarantine_.empty()) end_quarantine();
  used_ = 0;
}

bool DeviceMemory::find(const void* address, uintptr_t* begin, Block* block) const {
  std::shared_lock lock(mutex_);
  auto after = blocks_.upper_bound(uintptr_t(address));
  if (after == blocks_.begin()) return false;
  --after;
  if (uintptr_t(address) - after->first >= after->second.requested) return false;
  *begin = after->first;
  *block = after->second;
  return true;
}

uint64_t DeviceMemory::used() const {
  std::shared_lock lock(mutex_);
  return used_;
}

// Adds a hole and merges it with its neighbours.
void DeviceMemory::insert_hole(uintptr_t begin, uint64_t size) {
  auto next = holes_.lower_bound(begin);
  if (next != holes_.end() && begin + size == next->first) {
    size += next->second;
    const auto merged = next++;
    erase_hole(merged);
  }
  if (next != holes_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      begin = before->first;
      size += before->second;
      erase_hole(before);
    }
  }
  holes_.emplace(begin, size);
  holes_by_size_.emplace(size, begin);
}

void DeviceMemory::erase_hole(std::map<uintptr_t, uint64_t>::iterator hole) {
  holes_by_size_.erase({hole->second, hole->first});
  holes_.erase(hole);
}

}  // namespace softnpu
