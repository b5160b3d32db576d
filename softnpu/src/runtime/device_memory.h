// Device memory that a host dereference cannot reach.
//
// Note [Two address ranges]
// For all devices together two equally large ranges of virtual addresses are reserved. Programs get addresses
// of the first, which has no access rights: touching one from the host faults, as it would on a card. The
// second holds the bytes; the software NPU adds a constant (`mirror_delta`) to go from one to the other. Each
// device owns a power-of-two part of the range, so the device of an address is a shift. Pages cost nothing
// until they are used.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <shared_mutex>
#include <string>
#include <utility>

#include "runtime/export.h"

namespace softnpu {

struct AddressSpace {
  uintptr_t base = 0;  // of the visible range; 0 until reserved
  uintptr_t bytes = 0;
  int device_shift = 0;
  ptrdiff_t mirror_delta = 0;
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

// Whether [address, address + bytes) lies in one live allocation. Cheap when asked again about the same
// allocation: each thread remembers the last ones until any memory is freed.
SOFTNPU_SHARED bool is_live(const void* address, uint64_t bytes);

// The memory of one device: best fit over its part of the address range, with a limit on the bytes in use.
class DeviceMemory {
 public:
  struct Block {
    uint64_t requested;  // what bounds are checked against
    uint64_t reserved;   // rounded up; what counts towards the limit
  };

  void open(uintptr_t base, uintptr_t range, uint64_t capacity);
  // nullptr when the limit is reached or no hole is large enough.
  void* allocate(uint64_t requested);
  bool release(void* address);
  void release_all();

  // The allocation that holds `address`: its begin and block; false if none does.
  bool find(const void* address, uintptr_t* begin, Block* block) const;
  uint64_t capacity() const { return capacity_; }
  uint64_t used() const;

 private:
  void insert_hole(uintptr_t begin, uint64_t size);
  void erase_hole(std::map<uintptr_t, uint64_t>::iterator hole);
  void end_quarantine();

  mutable std::shared_mutex mutex_;
  uint64_t capacity_ = 0;
  uint64_t used_ = 0;
  std::map<uintptr_t, Block> blocks_;
  std::map<uintptr_t, uint64_t> holes_;
  std::set<std::pair<uint64_t, uintptr_t>> holes_by_size_;
  // Freed blocks whose addresses stay unused for a while, so that the sanitizer can tell their use.
  std::deque<std::pair<uintptr_t, uint64_t>> quarantine_;
  uint64_t quarantined_ = 0;
};

}  // namespace softnpu
