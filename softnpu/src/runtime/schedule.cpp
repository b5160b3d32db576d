#include "runtime/schedule.h"

#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>

#include "runtime/event.h"
#include "runtime/stream.h"
#include "softnpu_control.h"

namespace softnpu::schedule {
namespace {

constexpr auto kSilence = std::chrono::milliseconds(200);
constexpr auto kPoll = std::chrono::milliseconds(5);

enum class Place { free, offering, running, waiting };

struct Lane {
  Stream* stream;
  Place place = Place::free;
  const EventVersion* event = nullptr;  // it waits for; nullptr: for a gate
  uint64_t tasks = 0;                   // finished so far
  uint64_t draw = 0;                    // how often its priority was drawn again
};

// Never destroyed: stream threads wait in it while the process ends.
struct State {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t seed = 0;
  std::map<int32_t, Lane> lanes;  // by the stream's id
  std::list<const Demand*> demands;
  uint64_t finished = 0;
  uint32_t running = 0;
  bool draining = false;
  std::chrono::steady_clock::time_point last_event = std::chrono::steady_clock::now();
};

State& state() {
  static auto* instance = new State;
  return *instance;
}

uint64_t mix(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t x = a * 0x9e3779b97f4a7c15 + b * 0xbf58476d1ce4e5b9 + c * 0x94d049bb133111eb + 1;
  for (int i = 0; i < 2; ++i) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
  }
  return x;
}

bool at_rest(const Lane& lane) {
  switch (lane.place) {
    case Place::offering: return true;
    case Place::waiting: return lane.event == nullptr || !lane.event->reached();
    case Place::free: return lane.stream->idle();
    case Place::running: return false;
  }
  return false;
}

bool wanted(const State& s) {
  if (s.draining) return true;
  for (const Demand* demand : s.demands)
    if (!demand->satisfied()) return true;
  return false;
}

Lane* first_in_line(State& s) {
  Lane* best = nullptr;
  uint64_t best_priority = 0;
  for (auto& [id, lane] : s.lanes) {
    if (lane.place != Place::offering) continue;
    const uint64_t priority = mix(s.seed, uint64_t(id), lane.draw);
    if (best == nullptr || priority > best_priority) best = &lane, best_priority = priority;
  }
  return best;
}

// With the lock held: gives the turn to a stream if the time has come.
void choose(State& s, bool although_running = false) {
  if ((s.running != 0 && !although_running) || !wanted(s)) return;
  bool all_idle = true;
  for (const auto& [id, lane] : s.lanes) {
    if (!although_running && !at_rest(lane)) return;
    all_idle = all_idle && lane.place == Place::free && lane.stream->idle();
  }
  if (all_idle) s.draining = false;
  Lane* next = first_in_line(s);
  if (next == nullptr) return;
  next->place = Place::running;
  ++s.running;
  s.last_event = std::chrono::steady_clock::now();
  s.changed.notify_all();
}

void move_to(Stream& stream, Place place, const EventVersion* event = nullptr) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  const auto found = s.lanes.find(stream.id);
  if (found == s.lanes.end()) return;
  found->second.place = place;
  found->second.event = event;
  s.last_event = std::chrono::steady_clock::now();
  choose(s);
  s.changed.notify_all();
}

}  // namespace

void add(Stream& stream) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  s.lanes.emplace(stream.id, Lane{.stream = &stream});
}

void remove(Stream& stream) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  s.lanes.erase(stream.id);
  choose(s);
}

void wait_for_turn(Stream& stream) {
  move_to(stream, Place::offering);
  State& s = state();
  std::unique_lock lock(s.mutex);
  Lane& lane = s.lanes.at(stream.id);
  while (lane.place != Place::running && on() && !task_should_give_up()) {
    s.changed.wait_for(lock, kPoll);
    if (lane.place == Place::running || std::chrono::steady_clock::now() - s.last_event < kSilence) continue;
    s.draining = true;
    choose(s, true);
  }
  if (lane.place != Place::running) {  // it runs without having been chosen
    lane.place = Place::running;
    ++s.running;
  }
}

void finished(Stream& stream) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  Lane& lane = s.lanes.at(stream.id);
  if (lane.place == Place::running) --s.running, ++s.finished;
  lane.place = Place::free;
  if (mix(s.seed, uint64_t(stream.id), ++lane.tasks) % 8 == 0) ++lane.draw;
  s.last_event = std::chrono::steady_clock::now();
  choose(s);
  s.changed.notify_all();
}

void stand_still(Stream& stream, const EventVersion* until) { move_to(stream, Place::waiting, until); }
void move_on(Stream& stream) { move_to(stream, Place::free); }

Demand::Demand(std::function<bool()> is_satisfied) : satisfied(std::move(is_satisfied)), listed_(on()) {
  if (!listed_) return;
  State& s = state();
  std::lock_guard lock(s.mutex);
  s.demands.push_back(this);
  choose(s);
}

Demand::~Demand() {
  if (!listed_) return;
  State& s = state();
  std::lock_guard lock(s.mutex);
  s.demands.remove(this);
}

void poll() {
  State& s = state();
  uint64_t target;
  {
    std::lock_guard lock(s.mutex);
    target = s.finished + 1;
  }
  const Demand demand([&s, target] { return s.finished >= target; });
  std::unique_lock lock(s.mutex);
  // Until the task is over and its stream is at rest again, or there was none to run.
  const auto over = [&] {
    bool rest = s.running == 0, offered = false;
    for (const auto& [id, lane] : s.lanes) {
      rest = rest && at_rest(lane);
      offered = offered || lane.place == Place::offering;
    }
    return rest && (s.finished >= target || !offered);
  };
  s.changed.wait_for(lock, kSilence, over);
}

}  // namespace softnpu::schedule

using namespace softnpu;

SOFTNPU_EXPORT void softnpu_schedule(uint64_t seed, int on) {
  schedule::State& s = schedule::state();
  std::lock_guard lock(s.mutex);
  s.seed = seed;
  s.draining = false;
  for (auto& [id, lane] : s.lanes) lane.tasks = lane.draw = 0;
  if (on != 0) hook_flags.fetch_or(kSchedule);
  else hook_flags.fetch_and(~uint32_t(kSchedule));
  s.changed.notify_all();
}
