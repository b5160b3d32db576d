// Adversarial scheduling: which stream goes first is decided by a seed instead of by luck.
//
// Note [Adversarial scheduling]
// With a seed, work of the streams waits until the host asks for a result (it synchronises, polls, or a
// queue is full). Then one task runs at a time, and always that of the stream with the highest priority among those
// whose next task may run; a stream at an unreached event may not. Priorities are drawn from the seed and the stream's
// number, and drawn again for about every eighth task of a stream. So whatever no event orders runs in an order that
// the seed chooses and that is the same in every run of the program: a missing event fails with half of the
// seeds or more, and with such a seed it fails every time.
//
// The next stream is chosen when every stream has come to rest: it has nothing to do, offers a task, is held back by a
// gate, or waits for an event that is not reached. What a program with several host threads enqueues, and when, is up
// to those threads.
//
// A program may wait in ways that are not seen here (a flag that a host function sets, another process). So when
// nothing has happened for a while, the work goes on until all streams are idle, as if the host had asked.
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/hook.h"

namespace softnpu {
class EventVersion;
class Stream;
}  // namespace softnpu

namespace softnpu::schedule {

inline bool on() { return hooked(kSchedule); }

void add(Stream& stream);
void remove(Stream& stream);

// For the stream's thread, around its tasks.
void wait_for_turn(Stream& stream);
void finished(Stream& stream);
// Around a wait on the stream's thread: for an event, or (nullptr) for something only the outside can end.
void stand_still(Stream& stream, const EventVersion* until);
void move_on(Stream& stream);

// While it lives and `satisfied` does not hold, tasks run. For a thread that waits.
class Demand {
 public:
  explicit Demand(std::function<bool()> satisfied);
  ~Demand();
  Demand(const Demand&) = delete;

  std::function<bool()> satisfied;

 private:
  bool listed_;
};

// Lets one task run, if one can: a program that asks again and again whether something is done gets there.
void poll();

}  // namespace softnpu::schedule
