// Device memory that a host dereference cannot reach.
//
// Note [Two address ranges]
// For all devices together two equally large ranges of virtual addresses are reserved. Programs get addresses
// of the first, which has no access rights: touching one from the host faults, as it would on a card. The
// second holds the bytes; the software NPU adds a constant (`mirror_delta`) to go from one to the other. Each
// device owns a power-of-two part of the range, so the device of an address is a shift. Pages cost nothing
// until they are used.
//
// The part of a device begins with its memory, whose bytes are those of an anonymous file (memfd): another
// process can map the same bytes. The rest is for addresses without memory of their own: ranges reserved by
// the program and memory of other processes, whose mirror is mapped onto pieces of such files
// (virtual_memory.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <shared_mutex>
#include <string>

#include "runtime/address_holes.h"
#include "runtime/export.h"

namespace softnpu {

struct AddressSpace {
  uintptr_t base = 0;  // of the visible range; 0 until reserved
  uintptr_t bytes = 0;
  int device_shift = 0;
  ptrdiff_t mirror_delta = 0;
  uintptr_t memory_bytes = 0;  // of a device's part: what lies behind belongs to VirtualMemory
};
extern SOFTNPU_SHARED AddressSpace address_space;

// Reserves both ranges for `devices` of `capacity` bytes each; false with a reason when the system refuses.
bool reserve_address_space(uint32_t devices, uint64_t capacity, std::string* problem);

inline bool is_device_address(const void* address) {
  return uintptr_t(address) - address_space.base < address_space.bytes;
}
// Only for device addresses.
inline int device_of(const void* address) {
  return int((uintptr_t(address) - address_space.base) >> address_space.device_shift);
}
inline void* host_address(const void* address) {
  return reinterpret_cast<void*>(uintptr_t(address) + address_space.mirror_delta);
}

// Whether [address, address + bytes) is live device memory: inside one allocation, or mapped without a gap.
// Cheap when asked again about the same allocation: each thread remembers the last ones until any memory ends.
struct LiveMemory {
  uint64_t epoch;
  uintptr_t begin, end;
};
inline constexpr size_t kLiveSeen = 8;
SOFTNPU_SHARED LiveMemory* live_seen();                  // of this thread; who asks often keeps it
extern SOFTNPU_SHARED std::atomic<uint64_t> live_epoch;  // changes whenever memory stops being live
SOFTNPU_SHARED bool is_live_unseen(const void* address, uint64_t bytes, LiveMemory& seen);
inline bool is_live(const void* address, uint64_t bytes, LiveMemory* all_seen = live_seen()) {
  const uintptr_t at = uintptr_t(address);
  LiveMemory& seen = all_seen[(at >> 21) % kLiveSeen];
  if (seen.epoch == live_epoch.load(std::memory_order_acquire) && at >= seen.begin && at < seen.end &&
      bytes <= seen.end - at) [[likely]]
    return true;
  return is_live_unseen(address, bytes, seen);
}
// The live allocation or gapless mapping around an address; false if there is none.
bool find_live(const void* address, uintptr_t* begin, uintptr_t* end);
// To be called after any memory has stopped being live.
void forget_live_memory();

uintptr_t page_bytes();

// The memory of one device: best fit over its part of the address range, with a limit on the bytes in use.
class DeviceMemory {
 public:
  struct Block {
    uint64_t requested;  // what bounds are checked against
    uint64_t reserved;   // rounded up; what counts towards the limit
    bool physical;       // without an address of its own: only mappings show it
  };
  static constexpr uint64_t kAnyGeneration = ~uint64_t(0);

  // False with a reason when the system gives no memory file.
  bool open(int index, uintptr_t base, uintptr_t range, uint64_t capacity, std::string* problem);
  // nullptr when the limit is reached or no hole is large enough.
  void* allocate(uint64_t requested, uint64_t* generation = nullptr);
  // Memory to be mapped elsewhere: its offset in file(), and the generation it belongs to; false as above.
  bool allocate_physical(uint64_t size, uint64_t alignment, uint64_t* offset, uint64_t* generation);
  void release_physical(uint64_t offset, uint64_t generation);
  // False when no allocation begins there, or none of that generation: release_all has ended it.
  bool release(void* address, uint64_t generation = kAnyGeneration);
  void release_all();

  // The allocation that holds `address`: its begin and block; false if none does.
  bool find(const void* address, uintptr_t* begin, Block* block) const;
  uint64_t capacity() const { return capacity_; }
  uint64_t used() const;
  uint64_t peak() const;
  int file() const { return file_; }
  uint64_t offset_of(const void* address) const { return uintptr_t(address) - base_; }

 private:
  bool take(uint64_t alignment, const Block& block, uintptr_t* begin, uint64_t* generation);
  bool give_back(uintptr_t begin, bool physical, uint64_t generation);
  void return_pages(uintptr_t begin, uint64_t bytes) const;
  void end_quarantine();

  mutable std::shared_mutex mutex_;
  uintptr_t base_ = 0;
  int file_ = -1;
  uint64_t capacity_ = 0;
  uint64_t used_ = 0;
  uint64_t peak_ = 0;
  uint64_t generation_ = 0;  // counts release_all: what was allocated before is gone
  std::map<uintptr_t, Block> blocks_;
  AddressHoles holes_;
  // Freed blocks whose addresses stay unused for a while, so that the sanitizer can tell their use.
  std::deque<std::pair<uintptr_t, uint64_t>> quarantine_;
  uint64_t quarantined_ = 0;
};

}  // namespace softnpu
