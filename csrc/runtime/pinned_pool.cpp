#include "runtime/pinned_pool.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <exception>

#include "base/error.h"
#include "runtime/oom_report.h"

namespace mt::runtime {
namespace {

constexpr size_t kPage = 4096;
using Guard = std::lock_guard<std::mutex>;

int64_t microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

void CallTime::add(int64_t microseconds) {
  total += microseconds;
  max = std::max(max, microseconds);
  min = count == 0 ? microseconds : std::min(min, microseconds);
  ++count;
}

void PinnedStats::reset_peak() {
  for (Stat* stat : {&allocations, &allocated_bytes, &active_requests, &active_bytes})
    stat->peak = stat->current;
}

void PinnedStats::reset_accumulated() {
  for (Stat* stat : {&allocations, &allocated_bytes, &active_requests, &active_bytes})
    stat->allocated = stat->freed = 0;
  num_host_alloc = num_host_free = 0;
  alloc_time = free_time = {};
}

PinnedPool::PinnedPool(std::shared_ptr<Upstream> upstream, PinnedSettings settings)
    : upstream_(std::move(upstream)), settings_(settings) {}

PinnedPool::~PinnedPool() {
  for (const auto& [stream, queue] : pending_)
    for (const Pending& use : queue) upstream_->release_event(use.event);
}

// A power of two lets a freed block serve the next request of about that size; above the threshold the waste
// of up to half the block would hurt more.
size_t PinnedPool::rounded(size_t bytes) const {
  const size_t pages = (bytes + kPage - 1) / kPage * kPage;
  return pages <= settings_.max_rounded_size ? std::bit_ceil(pages) : pages;
}

PinnedPool::Piece* PinnedPool::take_cached(size_t size) {
  // Rounded sizes repeat, so an exact match is the rule; a block of twice the size is the most that is worth
  // it.
  const auto found = cached_.lower_bound(size);
  if (found == cached_.end() || found->first > 2 * size) return nullptr;
  Piece* piece = found->second;
  cached_.erase(found);
  return piece;
}

Address PinnedPool::allocate(size_t bytes) {
  if (bytes == 0) return 0;
  MT_CHECK_AS(out_of_memory, bytes < kUnlimited / 4, "Host out of memory. Tried to allocate ", bytes,
              " bytes of pinned memory.");
  complete_pending_uses();
  size_t size;
  {
    Guard guard(mutex_);
    size = rounded(bytes);
    if (Piece* piece = take_cached(size)) {
      piece->in_use = true;
      stats_.active_requests.increase(1);
      stats_.active_bytes.increase(int64_t(piece->size));
      return piece->address;
    }
  }
  const auto start = std::chrono::steady_clock::now();
  RawMemory raw = upstream_->allocate(size);
  if (!raw.address) {
    empty_cache();
    raw = upstream_->allocate(size);
  }
  const int64_t spent = microseconds_since(start);
  Guard guard(mutex_);
  MT_CHECK_AS(out_of_memory, raw.address, "Host out of memory. Tried to allocate ", format_size(bytes),
              " of pinned memory (rounded to ", format_size(size), "); ",
              format_size(size_t(stats_.active_bytes.current)),
              " of pinned memory is in use. The driver said: ", as_sentence(raw.error));
  auto piece = std::make_unique<Piece>();
  piece->address = raw.address;
  piece->size = size;
  piece->in_use = true;
  pieces_[raw.address] = std::move(piece);
  ++stats_.num_host_alloc;
  stats_.alloc_time.add(spent);
  stats_.allocations.increase(1);
  stats_.allocated_bytes.increase(int64_t(size));
  stats_.active_requests.increase(1);
  stats_.active_bytes.increase(int64_t(size));
  return raw.address;
}

PinnedPool::Piece& PinnedPool::piece_at(Address address, const char* function) {
  const auto found = pieces_.find(address);
  MT_CHECK(found != pieces_.end() && found->second->in_use, function,
           ": the pinned pool has no block in use at ", reinterpret_cast<void*>(address), ".");
  return *found->second;
}

void PinnedPool::record_stream(Address address, StreamHandle stream) {
  Guard guard(mutex_);
  auto& used_by = piece_at(address, "record_stream").used_by;
  if (std::find(used_by.begin(), used_by.end(), stream) == used_by.end()) used_by.push_back(stream);
}

void PinnedPool::keep(Address address) {
  Guard guard(mutex_);
  ++piece_at(address, "keep").kept;
}

void PinnedPool::let_go(Address address, StreamHandle stream) {
  Piece* piece;
  {
    Guard guard(mutex_);
    piece = pieces_.at(address).get();
    if (stream) piece->used_by.push_back(stream);
    if (--piece->kept || piece->in_use) return;
  }
  await_uses(piece);
}

void PinnedPool::capture_began() {
  Guard guard(mutex_);
  ++captures_;
}

void PinnedPool::capture_ended() {
  std::vector<Piece*> pieces;
  {
    Guard guard(mutex_);
    if (--captures_) return;
    pieces.swap(postponed_);
  }
  for (Piece* piece : pieces) await_uses(piece);
}

void PinnedPool::free(Address address) {
  if (address == 0) return;
  Piece* piece;
  {
    Guard guard(mutex_);
    piece = &piece_at(address, "free");
    piece->in_use = false;
    if (piece->kept) return;  // let_go() goes on
  }
  await_uses(piece);
}

// Nobody holds the piece any more, but streams may use it.
void PinnedPool::await_uses(Piece* piece) {
  std::vector<StreamHandle> streams;
  std::vector<Address> to_free;
  {
    Guard guard(mutex_);
    if (captures_ && !piece->used_by.empty()) return postponed_.push_back(piece);
    streams.swap(piece->used_by);
    piece->pending_events = uint32_t(streams.size());
    if (streams.empty()) retire(piece, to_free);
  }
  for (StreamHandle stream : streams) {
    EventHandle event = 0;
    try {
      event = upstream_->record_event(stream);
    } catch (const std::exception&) {
      // Without an event the only proof that the copy is done is a synchronisation. If that fails too, its
      // error goes to the caller and the block is never reused: memory a device may still write is worse than
      // a leak.
      upstream_->synchronize();
    }
    Guard guard(mutex_);
    if (event) pending_[stream].push_back({event, piece});
    else if (--piece->pending_events == 0) retire(piece, to_free);
  }
  give_back(to_free);
}

// With the mutex held: nobody uses the piece any more.
void PinnedPool::retire(Piece* piece, std::vector<Address>& to_free) {
  stats_.active_requests.decrease(1);
  stats_.active_bytes.decrease(int64_t(piece->size));
  if (piece->size <= settings_.max_cached_size) {
    cached_.emplace(piece->size, piece);
    return;
  }
  to_free.push_back(piece->address);
  stats_.allocations.decrease(1);
  stats_.allocated_bytes.decrease(int64_t(piece->size));
  pieces_.erase(piece->address);
}

void PinnedPool::complete_pending_uses() {
  std::vector<Address> to_free;
  std::vector<StreamHandle> streams;
  {
    Guard guard(mutex_);
    if (captures_) return;
    for (const auto& [stream, queue] : pending_) streams.push_back(stream);
  }
  for (StreamHandle stream : streams) {
    while (true) {
      // The use is taken out while upstream is asked, so that no other thread completes it too.
      Pending use;
      {
        Guard guard(mutex_);
        const auto queue = pending_.find(stream);
        if (queue == pending_.end()) break;
        use = queue->second.front();
        queue->second.pop_front();
        if (queue->second.empty()) pending_.erase(queue);
      }
      bool complete = false;
      try {
        complete = upstream_->event_is_complete(use.event);
      } catch (...) {
        Guard guard(mutex_);
        pending_[stream].push_front(use);
        throw;
      }
      if (complete) upstream_->release_event(use.event);
      Guard guard(mutex_);
      if (!complete) {
        pending_[stream].push_front(use);
        break;
      }
      if (--use.piece->pending_events == 0) retire(use.piece, to_free);
    }
  }
  give_back(to_free);
}

void PinnedPool::give_back(const std::vector<Address>& addresses) {
  for (Address address : addresses) {
    const auto start = std::chrono::steady_clock::now();
    upstream_->free(address);
    Guard guard(mutex_);
    ++stats_.num_host_free;
    stats_.free_time.add(microseconds_since(start));
  }
}

bool PinnedPool::is_pinned(Address address) const {
  Guard guard(mutex_);
  auto after = pieces_.upper_bound(address);
  if (after == pieces_.begin()) return false;
  const Piece& piece = *std::prev(after)->second;
  return piece.in_use && address < piece.address + piece.size;
}

void PinnedPool::empty_cache() {
  complete_pending_uses();
  std::vector<Address> to_free;
  {
    Guard guard(mutex_);
    for (const auto& [size, piece] : cached_) {
      to_free.push_back(piece->address);
      stats_.allocations.decrease(1);
      stats_.allocated_bytes.decrease(int64_t(size));
    }
    cached_.clear();
    for (Address address : to_free) pieces_.erase(address);
  }
  give_back(to_free);
}

PinnedStats PinnedPool::stats() const {
  Guard guard(mutex_);
  return stats_;
}

void PinnedPool::reset_peak_stats() {
  Guard guard(mutex_);
  stats_.reset_peak();
}

void PinnedPool::reset_accumulated_stats() {
  Guard guard(mutex_);
  stats_.reset_accumulated();
}

void PinnedPool::set_settings(const PinnedSettings& settings) {
  Guard guard(mutex_);
  settings_ = settings;
}

}  // namespace mt::runtime
