// The allocator's policy again, written to be read: vectors, linear search, no locks, no clever structures.
// It predicts the address of every allocation and the value of every counter.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "runtime/alloc_conf.h"
#include "runtime/stats.h"
#include "upstream_double.h"

class Model {
 public:
  using Address = UpstreamDouble::Address;
  using StreamHandle = UpstreamDouble::StreamHandle;

  Model(size_t device_bytes, mt::runtime::AllocatorSettings settings)
      : device_(device_bytes), settings_(settings) {}

  // nullopt: out of memory.
  std::optional<Address> allocate(size_t bytes, StreamHandle stream) {
    complete_pending();
    const size_t size = settings_.block_size(bytes);
    if (auto address = from_cache(bytes, size, stream)) return address;
    if (!grow(size, stream)) {
      synchronize();
      if (auto address = from_cache(bytes, size, stream)) return address;
      release_all();
      ++stats.num_alloc_retries;
      if (!grow(size, stream)) return std::nullopt;
    }
    return from_cache(bytes, size, stream);
  }

  void free(Address address) {
    Piece& piece = find(address);
    const bool small = segment_of(address).small;
    piece.state = State::pending;
    segment_of(address).used_at = ++clock_;
    stats.allocation.decrease(small, 1);
    stats.allocated_bytes.decrease(small, int64_t(piece.size));
    piece.waits = piece.used_by.size();
    if (piece.waits == 0) return retire(address);
    for (StreamHandle stream : piece.used_by) pending_[stream].push_back({address, finished_[stream]});
    piece.used_by.clear();
  }

  void record_stream(Address address, StreamHandle stream) {
    Segment& segment = segment_of(address);
    auto& used_by = find(address).used_by;
    if (stream != segment.stream && std::find(used_by.begin(), used_by.end(), stream) == used_by.end())
      used_by.push_back(stream);
  }

  void finish(StreamHandle stream) { ++finished_[stream]; }

  void empty_cache() {
    bool waiting = false, used = false;
    for (auto& [stream, queue] : pending_) waiting |= !queue.empty();
    if (waiting) synchronize();
    for (auto& segment : segments_) used |= is_whole(segment) && segment.used_at > synchronized_at_;
    if (used) synchronize();
    release_all();
  }

  mt::runtime::AllocatorStats stats;

 private:
  enum class State { free, allocated, pending };
  struct Piece {
    Address address;
    size_t size;
    size_t requested = 0;
    State state = State::free;
    size_t waits = 0;
    std::vector<StreamHandle> used_by = {};
  };
  struct Segment {
    bool small;
    StreamHandle stream;
    std::vector<Piece> pieces;
    long used_at = 0;
  };
  struct Use {
    Address address;
    long finished_before;  // complete once the stream has finished more often than this
  };

  static bool is_whole(const Segment& segment) {
    return segment.pieces.size() == 1 && segment.pieces[0].state == State::free;
  }

  Segment& segment_of(Address address) {
    for (Segment& segment : segments_)
      if (address >= segment.pieces.front().address &&
          address < segment.pieces.back().address + segment.pieces.back().size)
        return segment;
    throw std::logic_error("model: address in no segment");
  }
  Piece& find(Address address) {
    for (Piece& piece : segment_of(address).pieces)
      if (piece.address == address) return piece;
    throw std::logic_error("model: no piece at address");
  }

  std::optional<Address> from_cache(size_t bytes, size_t size, StreamHandle stream) {
    const bool small = size <= mt::runtime::kSmallSize;
    Segment* home = nullptr;
    size_t best = 0;
    for (Segment& segment : segments_) {
      if (segment.small != small || segment.stream != stream) continue;
      for (size_t i = 0; i < segment.pieces.size(); ++i) {
        const Piece& piece = segment.pieces[i];
        if (piece.state != State::free || piece.size < size) continue;
        if (!home || std::pair(piece.size, piece.address) <
                         std::pair(home->pieces[best].size, home->pieces[best].address))
          home = &segment, best = i;
      }
    }
    if (!home) return std::nullopt;
    const bool was_split = home->pieces.size() > 1;
    const size_t rest = home->pieces[best].size - size;
    if (small ? rest >= 512 : rest > mt::runtime::kSmallSize) {
      const Address start = home->pieces[best].address;
      home->pieces[best].size = size;
      home->pieces.insert(home->pieces.begin() + long(best) + 1, Piece{start + size, rest});
      if (was_split) {
        stats.inactive_split_bytes.decrease(small, int64_t(size));
      } else {
        stats.inactive_split.increase(small, 1);
        stats.inactive_split_bytes.increase(small, int64_t(rest));
      }
    } else if (was_split) {
      stats.inactive_split.decrease(small, 1);
      stats.inactive_split_bytes.decrease(small, int64_t(home->pieces[best].size));
    }
    Piece& piece = home->pieces[best];
    piece.state = State::allocated;
    piece.requested = bytes;
    stats.allocation.increase(small, 1);
    stats.allocated_bytes.increase(small, int64_t(piece.size));
    stats.active.increase(small, 1);
    stats.active_bytes.increase(small, int64_t(piece.size));
    stats.requested_bytes.increase(small, int64_t(bytes));
    return piece.address;
  }

  bool grow(size_t size, StreamHandle stream) {
    const bool small = size <= mt::runtime::kSmallSize;
    const size_t bytes = settings_.segment_size(size);
    const auto raw = device_.allocate(bytes);
    if (!raw.address) {
      ++stats.num_ooms;
      return false;
    }
    ++stats.num_device_alloc;
    stats.segment.increase(small, 1);
    stats.reserved_bytes.increase(small, int64_t(bytes));
    segments_.push_back({small, stream, {Piece{raw.address, bytes}}});
    return true;
  }

  // The piece becomes free and joins its free neighbours.
  void retire(Address address) {
    Segment& segment = segment_of(address);
    const bool small = segment.small;
    auto& pieces = segment.pieces;
    size_t i = 0;
    while (pieces[i].address != address) ++i;
    stats.active.decrease(small, 1);
    stats.active_bytes.decrease(small, int64_t(pieces[i].size));
    stats.requested_bytes.decrease(small, int64_t(pieces[i].requested));
    pieces[i].state = State::free;
    int64_t count = 0, bytes = 0;
    if (i + 1 < pieces.size() && pieces[i + 1].state == State::free) {
      --count, bytes -= int64_t(pieces[i + 1].size);
      pieces[i].size += pieces[i + 1].size;
      pieces.erase(pieces.begin() + long(i) + 1);
    }
    if (i > 0 && pieces[i - 1].state == State::free) {
      --count, bytes -= int64_t(pieces[i - 1].size);
      pieces[i - 1].size += pieces[i].size;
      pieces.erase(pieces.begin() + long(i));
      --i;
    }
    if (pieces.size() > 1) ++count, bytes += int64_t(pieces[i].size);
    if (count) stats.inactive_split.change(small, count);
    if (bytes) stats.inactive_split_bytes.change(small, bytes);
  }

  void end_use(Address address) {
    if (--find(address).waits == 0) retire(address);
  }

  void complete_pending() {
    for (auto& [stream, queue] : pending_)
      while (!queue.empty() && finished_[stream] > queue.front().finished_before) {
        const Address address = queue.front().address;
        queue.pop_front();
        end_use(address);
      }
  }

  void synchronize() {
    ++stats.num_sync_all_streams;
    for (auto& [stream, queue] : pending_)
      while (!queue.empty()) {
        const Address address = queue.front().address;
        queue.pop_front();
        end_use(address);
      }
    synchronized_at_ = clock_;
  }

  void release_all() {
    std::erase_if(segments_, [this](const Segment& segment) {
      if (!is_whole(segment)) return false;
      const Piece& piece = segment.pieces[0];
      device_.free(piece.address);
      ++stats.num_device_free;
      stats.segment.decrease(segment.small, 1);
      stats.reserved_bytes.decrease(segment.small, int64_t(piece.size));
      return true;
    });
  }

  UpstreamDouble device_;
  const mt::runtime::AllocatorSettings settings_;
  std::vector<Segment> segments_;
  std::map<StreamHandle, std::deque<Use>> pending_;
  std::map<StreamHandle, long> finished_;
  long clock_ = 0, synchronized_at_ = 0;
};
