// Cached host memory for tensors, their headers and graph nodes.
//
// Note [Host memory]
// Blocks come in size classes. Each thread keeps bounded free lists of the small classes, so the common
// allocate/free pair costs a few nanoseconds and no lock; a block freed by another thread than the one that
// allocated it simply joins the freeing thread's list. Large blocks are kept in one shared, bounded cache:
// memory fresh from the system costs a page fault per 4 KiB on every operator. The size given to `free` must
// be the size asked for. A thread's lists go to the shared cache when it ends.
#pragma once

#include <cstddef>

#include "core/thread_state.h"

namespace mt {

inline constexpr size_t kHostAlignment = 64;
inline constexpr unsigned kSmallListLimit = 256;  // blocks kept per class and thread

// Slow paths: a list that is empty or full, and sizes above the small classes.
void* host_allocate_slow(size_t bytes);
void host_free_slow(void* block, size_t bytes);
void host_empty_cache();
size_t host_cached_bytes();

inline void* host_allocate(size_t bytes) {
  const size_t slot = (bytes + kSmallClass - 1) / kSmallClass;
  if (slot < kSmallClasses) [[likely]] {
    SmallLists& lists = thread_state().small;
    if (FreeBlock* block = lists.head[slot]) [[likely]] {
      lists.head[slot] = block->next;
      --lists.count[slot];
      return block;
    }
  }
  return host_allocate_slow(bytes);
}

inline void host_free(void* block, size_t bytes) {
  const size_t slot = (bytes + kSmallClass - 1) / kSmallClass;
  if (slot < kSmallClasses) [[likely]] {
    SmallLists& lists = thread_state().small;
    if (lists.count[slot] < kSmallListLimit) [[likely]] {
      auto* entry = static_cast<FreeBlock*>(block);
      entry->next = lists.head[slot];
      lists.head[slot] = entry;
      ++lists.count[slot];
      return;
    }
  }
  host_free_slow(block, bytes);
}

}  // namespace mt
