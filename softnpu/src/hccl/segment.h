// The memory that the ranks of a communicator share.
//
// Note [Shared memory without a name]
// The memory is a memfd of the process that called HcclGetRootInfo. It has no name in any file system: the others
// open it through /proc/<process>/fd while that process is alive, and the system frees it when the last rank has
// unmapped it or ended, however it ended. So nothing can be left behind, not even by a crash.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "hccl/peer_process.h"
#include "hccl_abi.h"

namespace softnpu::hccl {

inline constexpr uint32_t kMaxRanks = 256;
inline constexpr uint64_t kSlotBytes = uint64_t(1) << 20;  // what a rank publishes in one round

struct SegmentHeader {
  uint64_t identity;             // random, to recognise the segment of a root info
  std::atomic<uint32_t> ranks;   // 0 until the first rank joins
  std::atomic<uint32_t> joined;  // ranks that have mapped it
  std::atomic<uint32_t> failed;  // 0 none, 1 being written, 2 the text below says why
  uint32_t failed_rank;
  char failure[2048];
};

enum MemberState : uint32_t { kAbsent, kJoining, kJoined, kLeft };

struct Member {
  alignas(64) std::atomic<uint32_t> state;
  PeerProcess process;
  int32_t device;
  // Rounds of collectives this rank has written to its slot, and has finished reading of all slots.
  alignas(64) std::atomic<uint32_t> published;
  alignas(64) std::atomic<uint32_t> consumed;
  // Changes whenever a channel from or to this rank has moved.
  alignas(64) std::atomic<uint32_t> doorbell;
};

// A ring of bytes from one rank to another: what Send and Recv go through.
struct Channel {
  alignas(64) std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> read;
  alignas(64) char bytes[64];  // the first of many
};

static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);

// One rank's mapping of the segment. Its destruction tells the others that the rank has left.
class Segment {
 public:
  // Makes the memory and says in `info` where it is. The process keeps it open until all ranks have joined, or it
  // is told that no more will come.
  static void create(HcclRootInfo* info);
  static void close_to_others(const HcclRootInfo& info);

  enum class Join { joined, full };
  // Maps it as `rank` of `ranks`. `full`: all its ranks have joined already, so this is another, older one.
  static Join attach(const HcclRootInfo& info, uint32_t ranks, uint32_t rank, int32_t device,
                     std::unique_ptr<Segment>* segment);
  ~Segment();

  bool complete() const { return header().joined.load() == ranks_; }
  // Returns when all ranks have joined; a Failure when `timeout_seconds` pass or a rank has ended.
  void wait_until_complete(uint32_t timeout_seconds);
  // That Failure, if it is due for someone who has waited since `start`.
  void check_joining(int64_t start, uint32_t timeout_seconds) const;
  // The ranks that have not joined, as text: "1, 3".
  std::string absent_ranks() const;

  uint32_t ranks() const { return ranks_; }
  uint32_t rank() const { return rank_; }
  SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(base_); }
  Member& member(uint32_t rank) const;
  Member& self() const { return member(rank_); }
  // Where `rank` publishes in the given round: two places in turn.
  char* slot(uint32_t rank, uint32_t round) const;
  Channel& channel(uint32_t from, uint32_t to) const;
  uint64_t channel_bytes() const { return channel_bytes_; }

 private:
  Segment(char* base, const HcclRootInfo& info, uint32_t ranks, uint32_t rank);
  void take_place(int32_t device);

  char* base_;
  HcclRootInfo info_;
  uint32_t ranks_, rank_;
  uint64_t channel_bytes_;
  bool joined_ = false;
};

// A segment that no one can join any more once this is gone.
struct OwnRootInfo {
  OwnRootInfo() { Segment::create(&info); }
  OwnRootInfo(const OwnRootInfo&) = delete;
  ~OwnRootInfo() { Segment::close_to_others(info); }
  HcclRootInfo info;
};

// "rank 1 (process 1234)".
std::string rank_text(const Segment& segment, uint32_t rank);

}  // namespace softnpu::hccl
