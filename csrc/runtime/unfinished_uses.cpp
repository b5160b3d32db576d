#include "runtime/unfinished_uses.h"

#include <algorithm>
#include <exception>
#include <vector>

namespace mt::runtime {

UnfinishedUses::~UnfinishedUses() {
  pending_.for_each([this](const PendingUse& use) {
    if (use.event) upstream_.release_event(use.event);
  });
}

void UnfinishedUses::capture_began() {
  SpinGuard guard(lock_);
  captures_.fetch_add(1);
}

void UnfinishedUses::capture_ended() {
  std::vector<Block*> blocks;
  {
    SpinGuard guard(lock_);
    if (captures_.fetch_sub(1) > 1) return;
    blocks.swap(postponed_);
  }
  for (Block* block : blocks) await(block);
}

void UnfinishedUses::await(Block* block) {
  if (capturing()) [[unlikely]] {
    SpinGuard guard(lock_);
    if (capturing()) return postponed_.push_back(block);
  }
  // The block is neither allocated nor free until its last event completes, so its list is ours alone.
  std::vector<StreamHandle> streams;
  streams.swap(block->used_by);
  for (StreamHandle stream : streams) {
    EventHandle event = 0;
    std::string error;
    try {
      event = upstream_.record_event(stream);
    } catch (const std::exception& failure) {
      // free() runs in destructors. Without an event the block waits for the next device synchronisation, and
      // an out-of-memory error tells why.
      error = failure.what();
    }
    SpinGuard guard(lock_);
    if (!event) error_ = error;
    pending_.add({event, block, stream});
  }
}

void UnfinishedUses::complete() {
  if (completing_ || capturing()) return;  // the first: upstream re-entered us; the outer call goes on
  completing_ = true;
  struct Reset {
    bool& flag;
    ~Reset() { flag = false; }
  } reset{completing_};
  std::vector<StreamHandle> streams;
  {
    SpinGuard guard(lock_);
    streams = pending_.streams();
  }
  for (StreamHandle stream : streams) {
    while (true) {
      EventHandle event;
      {
        SpinGuard guard(lock_);
        event = pending_.oldest_event(stream);
      }
      if (!event || !upstream_.event_is_complete(event)) break;
      {
        SpinGuard guard(lock_);
        // A synchronisation inside event_is_complete may have completed it already.
        if (pending_.oldest_event(stream) != event) break;
        finish(pending_.remove_oldest(stream));
      }
      upstream_.release_event(event);
    }
  }
}

void UnfinishedUses::synchronize() {
  std::vector<PendingUse> uses;
  uint64_t now;
  {
    SpinGuard guard(lock_);
    cache_.ledger().count(&AllocatorStats::num_sync_all_streams);
    uses = pending_.take_all();
    now =
        cache_
            .advance();  // what is freed from here on may be used by work enqueued after the synchronisation
  }
  try {
    upstream_.synchronize();
  } catch (...) {
    SpinGuard guard(lock_);
    pending_.put_back(uses);
    throw;
  }
  {
    SpinGuard guard(lock_);
    synchronized_ = std::max(synchronized_, now);
    error_.clear();
    for (const PendingUse& use : uses) finish(use.block);
  }
  for (const PendingUse& use : uses)
    if (use.event) upstream_.release_event(use.event);
}

}  // namespace mt::runtime
