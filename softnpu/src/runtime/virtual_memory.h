// Addresses without memory of their own: ranges that a program reserves and maps onto physical memory, and
// memory of other processes. See Note [Two address ranges].
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>

#include "acl_abi.h"
#include "runtime/address_holes.h"
#include "runtime/memory_file.h"

namespace softnpu {

// A piece of a device's memory file, of this process or of another one.
struct PhysicalMemory {
  ~PhysicalMemory();

  std::shared_ptr<MemoryFile> foreign;  // empty: of this process
  int device = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t generation = 0;  // of the device's memory; see DeviceMemory
  aclrtPhysicalMemProp prop = {};

  int file() const;
};

// The addresses of one device behind its memory.
class VirtualAddresses {
 public:
  void open(uintptr_t begin, uintptr_t end);
  bool owns(const void* address) const { return uintptr_t(address) - begin_ < bytes_; }

  // All of them: an empty text, or what is wrong.
  std::string reserve(uint64_t size, uint64_t alignment, void** address);
  std::string release(void* address);
  std::string map(void* address, std::shared_ptr<PhysicalMemory> memory);
  std::string unmap(void* address);
  // A fresh address for a piece of a file that need not begin at a page.
  std::string map_anywhere(std::shared_ptr<PhysicalMemory> memory, void** address);
  // Undoes map_anywhere.
  void unmap_anywhere(void* address);
  void release_all();

  // The part around an address that is mapped without a gap.
  bool find(const void* address, uintptr_t* begin, uintptr_t* end) const;
  // What is mapped at an address, or nullptr.
  std::shared_ptr<PhysicalMemory> mapped_at(const void* address) const;

 private:
  struct Mapping {
    uintptr_t end;                      // of the pages
    uintptr_t first_live, end_of_live;  // of the memory in them
    std::shared_ptr<PhysicalMemory> memory;
  };
  using Mappings = std::map<uintptr_t, Mapping>;
  Mappings::const_iterator around(uintptr_t address) const;
  std::string map_pages(uintptr_t begin, std::shared_ptr<PhysicalMemory> memory);
  void unmap_pages(Mappings::const_iterator mapping);

  mutable std::shared_mutex mutex_;
  uintptr_t begin_ = 0;
  uintptr_t bytes_ = 0;
  AddressHoles holes_;
  std::map<uintptr_t, uint64_t> reservations_;  // begin -> size
  Mappings mappings_;
};

// Ends every handle of aclrtMallocPhysical and its relatives that belongs to a device.
void release_physical_handles(int device);

}  // namespace softnpu
