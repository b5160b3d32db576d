// A communicator as one rank sees it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hccl/failure.h"
#include "hccl/segment.h"
#include "runtime/futex.h"
#include "runtime/stream.h"

namespace softnpu::hccl {

// Lets operations through one at a time, those with a ticket in the order of their tickets (see Note [Tickets]).
class Turnstile {
 public:
  static constexpr uint32_t kNoTicket = ~0u;

  uint32_t take_ticket() { return tickets_++ & kTickets; }  // under the communicator's submit_mutex
  bool try_enter(uint32_t ticket) {
    uint32_t seen = word.load();
    if ((seen & kInside) != 0 || (ticket != kNoTicket && seen >> 1 != ticket)) return false;
    return word.compare_exchange_strong(seen, seen | kInside);
  }
  void leave(uint32_t ticket) {
    const uint32_t turn = word.load() >> 1;
    word.store((ticket == kNoTicket ? turn : (turn + 1) & kTickets) << 1);
    futex_wake_all(word);
  }

  std::atomic<uint32_t> word{0};  // whose turn it is, and in the lowest bit whether somebody is inside

 private:
  static constexpr uint32_t kInside = 1, kTickets = 0x3fffffff;
  uint32_t tickets_ = 0;
};

struct CommunicatorOptions {
  std::string name;           // empty: made from the segment's identity
  uint32_t exec_timeout = 0;  // seconds; 0 waits for ever
};

class Communicator {
 public:
  Communicator(std::unique_ptr<Segment> segment, int32_t device, CommunicatorOptions options);

  uint32_t ranks() const { return segment_->ranks(); }
  uint32_t rank() const { return segment_->rank(); }
  Segment& segment() const { return *segment_; }

  // Sleeps on `word` until ready() holds; a Failure when the communicator has failed, `peer` has ended, the time
  // is up, or the stream is being destroyed. Called by tasks.
  template <class Ready>
  void wait(std::atomic<uint32_t>& word, FutexScope scope, uint32_t peer, const char* name,
            const Ready& ready) {
    if (spin_until(ready, kSpin)) return;
    const int64_t start = now_ns();
    for (;;) {
      const uint32_t seen = word.load();
      if (ready()) return;
      futex_wait(word, seen, kPoll, scope);
      if (ready()) return;
      try {
        check_health(peer, name, start);
      } catch (const Failure&) {
        if (ready()) return;  // the peer did its part before it left
        throw;
      }
    }
  }
  // A Failure for any of the reasons above; `waiting_since` is when the wait began.
  void check_health(uint32_t peer, const char* name, int64_t waiting_since) const;

  // Ends all work of the communicator, on all ranks, with this reason.
  void fail(HcclResult code, const std::string& reason);
  // What HcclGetCommAsyncError answers, and why.
  HcclResult error(std::string* reason = nullptr) const;

  const int32_t device;
  const std::string name;
  const uint32_t exec_timeout;

  std::mutex submit_mutex;  // held while an operation goes to its stream and takes its tickets
  Turnstile collectives;
  std::vector<Turnstile> sends, receives;  // by the other rank
  uint32_t round = 0;                      // of collectives; only the one whose turn it is changes it

 private:
  static constexpr int64_t kSpin = 3'000;       // ns; the others may need this core
  static constexpr int64_t kPoll = 10'000'000;  // ns between looks at whether the peer is alive

  std::unique_ptr<Segment> segment_;
  mutable std::mutex error_mutex_;
  HcclResult error_ = HCCL_SUCCESS;
  std::string reason_;
};

// Work of a communicator on a stream: a collective, or a batch of sends and receives.
//
// Note [Tickets]
// Two ranks must run the operations of a communicator in the same order, so each takes a ticket when it is called,
// and runs when the ticket's turn has come, on whichever stream. One that was recorded in a graph has none: it runs
// when its stream comes to it, and only its place in the stream orders it.
class Operation {
 public:
  Operation(std::shared_ptr<Communicator> communicator, const char* operation_name)
      : comm(std::move(communicator)), name(operation_name) {}
  Operation(const Operation&) = delete;
  // One that was put on a stream but dropped can never be completed by the other ranks.
  virtual ~Operation();

  // Adds the work of an operation on the same communicator and stream that belongs to the same group; false when
  // the two cannot be one.
  virtual bool merge(Operation&) { return false; }

  static void put_on(Stream& stream, std::shared_ptr<Operation> operation);

  const std::shared_ptr<Communicator> comm;
  const char* const name;

 protected:
  virtual void take_tickets() = 0;
  // Calls visit(data, bytes, write) for every part of this rank's memory that the operation uses.
  using Visit = std::function<void(const char* data, uint64_t bytes, bool write)>;
  virtual void for_each_part(const Visit& visit) const = 0;
  // May be called again, then without tickets.
  virtual void run(bool with_tickets) = 0;

 private:
  enum State : uint32_t { kSubmitting, kWithTickets, kWithoutTickets };

  void execute();

  std::atomic<uint32_t> state_{kWithoutTickets};
  std::atomic<bool> pending_{false};
};

// The communicator of a handle; a Failure when there is none.
std::shared_ptr<Communicator> find_communicator(HcclComm handle);
HcclComm find_communicator_by_name(const std::string& name);
HcclComm add_communicator(std::shared_ptr<Communicator> communicator);
// Takes it out of the table; it ends when its last operation has.
void remove_communicator(HcclComm handle);

}  // namespace softnpu::hccl
