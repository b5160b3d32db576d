// Page-locked host memory, cached: pinning is slow, and copies from pinned memory are what can be
// asynchronous.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/alloc_conf.h"
#include "runtime/stats.h"
#include "runtime/upstream.h"

namespace mt::runtime {

// Microseconds spent in a driver call.
struct CallTime {
  int64_t total = 0, max = 0, min = 0, count = 0;

  void add(int64_t microseconds);
  int64_t average() const { return count ? total / count : 0; }
};

// The counters of torch.<device>.host_memory_stats().
struct PinnedStats {
  Stat allocations;  // blocks held from the system, in use or cached
  Stat allocated_bytes;
  Stat active_requests;  // blocks in use, or waiting for a stream that reads them
  Stat active_bytes;
  int64_t num_host_alloc = 0;
  int64_t num_host_free = 0;
  CallTime alloc_time, free_time;

  void reset_peak();
  void reset_accumulated();
};

// Upstream's allocate/free are the driver's pinned ones; its memory_info is not used.
class PinnedPool {
 public:
  explicit PinnedPool(std::shared_ptr<Upstream> upstream, PinnedSettings settings = {});
  ~PinnedPool();
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  Address allocate(size_t bytes);  // 0 for 0 bytes; throws out_of_memory
  void free(Address address);
  // An asynchronous copy on `stream` uses the memory: after free() it is not reused before the copy is done.
  void record_stream(Address address, StreamHandle stream);
  // A captured copy uses the memory whenever its graph is replayed: after free() it is kept until the graph lets it go.
  // `stream` may be replaying the graph then; 0: none does.
  void keep(Address address);
  void let_go(Address address, StreamHandle stream);
  // While a graph is captured no event is recorded or looked at; captures are counted.
  void capture_began();
  void capture_ended();
  bool is_pinned(Address address) const;  // any address inside a block that is in use
  void empty_cache();

  PinnedStats stats() const;
  void reset_peak_stats();
  void reset_accumulated_stats();
  void set_settings(const PinnedSettings& settings);

 private:
  struct Piece {
    Address address;
    size_t size;
    bool in_use = false;
    uint32_t pending_events = 0;
    uint32_t kept = 0;  // by graphs
    std::vector<StreamHandle> used_by;
  };
  struct Pending {
    EventHandle event;
    Piece* piece;
  };

  size_t rounded(size_t bytes) const;
  Piece* take_cached(size_t size);
  void await_uses(Piece* piece);
  void complete_pending_uses();
  void retire(Piece* piece, std::vector<Address>& to_free);
  void give_back(const std::vector<Address>& addresses);
  Piece& piece_at(Address address, const char* function);

  // See Note [Pools never call upstream under their lock] in upstream.h.
  const std::shared_ptr<Upstream> upstream_;
  mutable std::mutex mutex_;
  PinnedSettings settings_;
  PinnedStats stats_;
  std::map<Address, std::unique_ptr<Piece>> pieces_;  // all, by address
  std::multimap<size_t, Piece*> cached_;              // free ones, by size
  std::map<StreamHandle, std::deque<Pending>> pending_;
  int captures_ = 0;
  std::vector<Piece*> postponed_;  // freed during a capture
};

}  // namespace mt::runtime
