#include "core/host_memory.h"

#include <sys/mman.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/per_thread.h"

namespace mt {
namespace {

constexpr size_t kCacheLimit = size_t(512) << 20;  // bytes kept in the shared cache

// Sizes above the small classes are rounded to eighths of a power of two: at most 12.5% is wasted.
size_t round_size(size_t bytes) {
  if (bytes <= kSmallClass * (kSmallClasses - 1))
    return std::max<size_t>((bytes + kSmallClass - 1) / kSmallClass, 1) * kSmallClass;
  const size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

struct SharedCache {
  std::mutex mutex;
  std::map<size_t, std::vector<void*>> blocks;
  size_t bytes = 0;
};

SharedCache& shared_cache() {
  static auto* cache = new SharedCache;  // outlives every thread
  return *cache;
}

// Note [Large pages]
// A tensor of a million floats has a thousand 4 KiB pages, more than the processor's address cache holds for three of
// them; on a virtual machine each miss walks two page tables. Blocks of 2 MiB and more start on a large page's border and
// ask for such pages. Only whole large pages are asked for, so a block never takes more memory than its size.
constexpr size_t kLargePage = size_t(2) << 20;

void* system_allocate(size_t bytes) {
  const bool large = bytes >= kLargePage;
  void* block = nullptr;
  if (posix_memalign(&block, large ? kLargePage : kHostAlignment, bytes) != 0) return nullptr;
  // A hint: a kernel without large pages refuses it, and ordinary pages serve as well.
  if (large) madvise(block, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
  return block;
}

struct ThreadStateOwner {
  ThreadState state;
  ThreadStateOwner() { t_thread_state = &state; }
  ~ThreadStateOwner() {
    for (int slot = 0; slot < kSmallClasses; ++slot)
      for (FreeBlock* block = state.small.head[slot]; block;) std::free(std::exchange(block, block->next));
    t_thread_state = nullptr;
  }
};

}  // namespace

constinit thread_local ThreadState* t_thread_state = nullptr;

ThreadState& create_thread_state() {
  static constinit PerThread<ThreadStateOwner> owner;
  return owner->state;
}

void* host_allocate_slow(size_t bytes) {
  const size_t rounded = round_size(bytes);
  if (rounded > kSmallClass * (kSmallClasses - 1)) {
    SharedCache& cache = shared_cache();
    std::lock_guard lock(cache.mutex);
    auto found = cache.blocks.find(rounded);
    if (found != cache.blocks.end() && !found->second.empty()) {
      void* block = found->second.back();
      found->second.pop_back();
      cache.bytes -= rounded;
      return block;
    }
  }
  void* block = system_allocate(rounded);
  if (!block) {
    host_empty_cache();
    block = system_allocate(rounded);
  }
  MT_CHECK(block, "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate ", bytes,
           " bytes. Error code 12 (Cannot allocate memory)");
  return block;
}

void host_free_slow(void* block, size_t bytes) {
  const size_t rounded = round_size(bytes);
  if (rounded > kSmallClass * (kSmallClasses - 1)) {
    SharedCache& cache = shared_cache();
    std::lock_guard lock(cache.mutex);
    if (cache.bytes + rounded <= kCacheLimit) {
      cache.blocks[rounded].push_back(block);
      cache.bytes += rounded;
      return;
    }
  }
  std::free(block);
}

void host_empty_cache() {
  SharedCache& cache = shared_cache();
  std::lock_guard lock(cache.mutex);
  for (auto& [size, blocks] : cache.blocks)
    for (void* block : blocks) std::free(block);
  cache.blocks.clear();
  cache.bytes = 0;
}

size_t host_cached_bytes() {
  SharedCache& cache = shared_cache();
  std::lock_guard lock(cache.mutex);
  return cache.bytes;
}

}  // namespace mt
