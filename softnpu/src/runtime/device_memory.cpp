#include "runtime/device_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "runtime/config.h"
#include "runtime/device.h"
#include "sanitizer/sanitizer.h"

namespace softnpu {

AddressSpace address_space;
std::atomic<uint64_t> live_epoch{1};

LiveMemory* live_seen() {
  thread_local LiveMemory seen[kLiveSeen] = {};
  return seen;
}

namespace {

constexpr uint64_t kGranularity = 512;
// Pages of a freed block this large go back to the system; smaller ones are likely to be used again soon.
constexpr uint64_t kReturnPagesFrom = uint64_t(1) << 20;
// A device has 2^5 times as many addresses as memory, where the system allows it: allocators that reserve
// ranges reserve several as large as the whole memory.
constexpr int kMostExtraBits = 5;

void fill(uintptr_t address, uint64_t bytes, int value) {
  std::memset(host_address(reinterpret_cast<void*>(address)), value, bytes);
}

uintptr_t reserve(uint64_t bytes) {
  void* range = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return 0;
  madvise(range, bytes, MADV_DONTDUMP);
  return uintptr_t(range);
}

}  // namespace

uintptr_t page_bytes() {
  static const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
  return page;
}

bool reserve_address_space(uint32_t devices, uint64_t capacity, std::string* problem) {
  // Twice the capacity, so that fragmentation of addresses is not what ends a program: a card maps pages
  // anywhere.
  int shift = 21;
  while ((uint64_t(1) << shift) < 2 * capacity) ++shift;
  for (int extra = kMostExtraBits; extra >= 0; --extra) {
    const uint64_t bytes = uint64_t(devices) << (shift + extra);
    const uintptr_t visible = reserve(bytes);
    const uintptr_t mirror = visible == 0 ? 0 : reserve(bytes);
    if (mirror != 0) {
      address_space = {visible, bytes, shift + extra, ptrdiff_t(mirror - visible), uintptr_t(1) << shift};
      return true;
    }
    if (visible != 0) munmap(reinterpret_cast<void*>(visible), bytes);
  }
  *problem = "cannot reserve " + std::to_string((uint64_t(devices) << shift) >> 20) +
             " MiB of addresses for " + std::to_string(devices) + " device(s): " + std::strerror(errno) +
             "; set SOFTNPU_MEMORY or SOFTNPU_DEVICES lower, or raise the limit (ulimit -v)";
  return false;
}

bool find_live(const void* address, uintptr_t* begin, uintptr_t* end) {
  if (!is_device_address(address)) return false;
  const Device& owner = device(device_of(address));
  if (owner.addresses.owns(address)) return owner.addresses.find(address, begin, end);
  DeviceMemory::Block block;
  if (!owner.memory.find(address, begin, &block)) return false;
  *end = *begin + block.requested;
  return true;
}

// A mapped range may have grown since it was seen, so "too long" is asked again as well.
bool is_live_unseen(const void* address, uint64_t bytes, LiveMemory& seen) {
  const uint64_t epoch = live_epoch.load(std::memory_order_acquire);
  uintptr_t begin, end;
  if (!find_live(address, &begin, &end)) return false;
  seen = {epoch, begin, end};
  return bytes <= end - uintptr_t(address);
}

void forget_live_memory() { live_epoch.fetch_add(1, std::memory_order_release); }

bool DeviceMemory::open(int index, uintptr_t base, uintptr_t range, uint64_t capacity, std::string* problem) {
  std::unique_lock lock(mutex_);
  base_ = base;
  capacity_ = capacity;
  file_ = memfd_create(("softnpu-device-" + std::to_string(index)).c_str(), MFD_CLOEXEC);
  void* mirror = host_address(reinterpret_cast<void*>(base));
  if (file_ < 0 || ftruncate(file_, off_t(range)) != 0 ||
      mmap(mirror, range, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file_, 0) !=
          mirror) {
    *problem = "cannot make the memory of device " + std::to_string(index) + ": " + std::strerror(errno);
    return false;
  }
  madvise(mirror, range, MADV_DONTDUMP);
  holes_.insert(base, range);
  return true;
}

bool DeviceMemory::take(uint64_t alignment, const Block& block, uintptr_t* begin, uint64_t* generation) {
  {
    std::unique_lock lock(mutex_);
    if (block.reserved > capacity_ - used_) return false;
    bool taken = holes_.take(block.reserved, alignment, begin);
    while (!taken && !quarantine_.empty()) {
      end_quarantine();
      taken = holes_.take(block.reserved, alignment, begin);
    }
    if (!taken) return false;
    blocks_.emplace(*begin, block);
    used_ += block.reserved;
    peak_ = std::max(peak_, used_);
    *generation = generation_;
  }
  if (config().poison.load(std::memory_order_relaxed)) fill(*begin, block.reserved, 0xFF);
  return true;
}

void* DeviceMemory::allocate(uint64_t requested, uint64_t* generation) {
  if (requested > capacity_) return nullptr;
  const uint64_t size = (requested + kGranularity - 1) / kGranularity * kGranularity;
  uintptr_t begin;
  uint64_t ignored;
  if (!take(kGranularity, {requested, size, false}, &begin, generation == nullptr ? &ignored : generation))
    return nullptr;
  return reinterpret_cast<void*>(begin);
}

bool DeviceMemory::allocate_physical(uint64_t size, uint64_t alignment, uint64_t* offset,
                                     uint64_t* generation) {
  uintptr_t begin;
  if (!take(alignment, {size, size, true}, &begin, generation)) return false;
  *offset = begin - base_;
  return true;
}

bool DeviceMemory::give_back(uintptr_t begin, bool physical, uint64_t generation) {
  uint64_t size;
  {
    std::unique_lock lock(mutex_);
    const auto block = blocks_.find(begin);
    if (block == blocks_.end() || block->second.physical != physical) return false;
    if (generation != kAnyGeneration && generation != generation_) return false;
    size = block->second.reserved;
    blocks_.erase(block);
    forget_live_memory();
  }
  // Before the addresses can be handed out again, and without the lock: both can take a while.
  if (config().poison.load(std::memory_order_relaxed)) fill(begin, size, 0xFE);
  else if (size >= kReturnPagesFrom) return_pages(begin, size);
  std::unique_lock lock(mutex_);
  used_ -= size;
  if (sanitizer::keeps_freed_addresses()) {
    quarantine_.emplace_back(begin, size);
    quarantined_ += size;
    while (quarantined_ > capacity_ / 2) end_quarantine();
  } else {
    holes_.insert(begin, size);
  }
  return true;
}

// The block that was freed first can be handed out again.
void DeviceMemory::end_quarantine() {
  const auto [begin, size] = quarantine_.front();
  quarantine_.pop_front();
  quarantined_ -= size;
  holes_.insert(begin, size);
}

bool DeviceMemory::release(void* address, uint64_t generation) {
  return give_back(uintptr_t(address), false, generation);
}

void DeviceMemory::release_physical(uint64_t offset, uint64_t generation) {
  give_back(base_ + offset, true, generation);
}

void DeviceMemory::release_all() {
  std::unique_lock lock(mutex_);
  forget_live_memory();
  ++generation_;
  for (const auto& [begin, block] : blocks_) {
    return_pages(begin, block.reserved);
    holes_.insert(begin, block.reserved);
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
  if (after->second.physical || uintptr_t(address) - after->first >= after->second.requested) return false;
  *begin = after->first;
  *block = after->second;
  return true;
}

uint64_t DeviceMemory::used() const {
  std::shared_lock lock(mutex_);
  return used_;
}

uint64_t DeviceMemory::peak() const {
  std::shared_lock lock(mutex_);
  return peak_;
}

void DeviceMemory::return_pages(uintptr_t begin, uint64_t bytes) const {
  const uintptr_t page = page_bytes(), offset = begin - base_;
  const uintptr_t first = (offset + page - 1) / page * page, last = (offset + bytes) / page * page;
  if (last > first)
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(first), off_t(last - first));
}

}  // namespace softnpu
