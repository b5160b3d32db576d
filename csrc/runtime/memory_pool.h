// A pool of an allocator: free blocks that serve only requests made for the pool.
#pragma once

#include <memory>
#include <vector>

#include "runtime/free_lists.h"
#include "runtime/stats.h"
#include "runtime/upstream.h"

namespace mt::runtime {

// Memory from somewhere else than the device's own allocator: functions that a user gives. They know the
// stream, so the order of uses is theirs to keep.
class RawSource {
 public:
  virtual ~RawSource() = default;
  virtual RawMemory allocate(size_t bytes, StreamHandle stream) = 0;
  virtual void free(Address address, size_t bytes, StreamHandle stream) = 0;
};

struct PoolOptions {
  bool use_on_oom = false;  // its free blocks serve other requests before these fail
  bool no_split = false;    // a segment is handed out whole
  bool direct = false;      // nothing is cached: every request goes to the device, every free back
  std::shared_ptr<RawSource> source = {};
};

struct MemoryPool {
  int64_t id = 0;  // 0: the default pool
  PoolOptions options = {};
  FreeTree small = {}, large = {};
  int users = 0;           // who may still allocate from it
  size_t segments = 0;     // of fixed size, and those that grow
  PoolStat reserved = {};  // bytes

  FreeTree& tree(bool is_small) { return is_small ? small : large; }
  // With no users left, it lives only for the blocks that are still out.
  bool is_empty() const { return segments == 0; }
  // Free blocks that can go back to the device, in whole or in part.
  std::vector<Block*> releasable_blocks();
};

inline FreeTree& tree_of(const Block* block) { return block->pool->tree(block->small); }

// One allocation on its way.
struct MemoryRequest {
  size_t requested;  // by the caller
  size_t size;       // of the block it needs
  StreamHandle stream;
  bool small;
  uint64_t stack;  // where it comes from, if stacks are recorded
  MemoryPool* pool;
};

}  // namespace mt::runtime
