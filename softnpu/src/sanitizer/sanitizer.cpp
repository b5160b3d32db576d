#include "sanitizer/sanitizer.h"

#include <unistd.h>

#include <mutex>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "runtime/device_memory.h"
#include "runtime/error.h"
#include "runtime/memory.h"
#include "runtime/stream.h"
#include "sanitizer/allocations.h"
#include "softnpu_control.h"

namespace softnpu::sanitizer {
namespace {

constexpr uint64_t kMostRuns = 4096;

struct Lane {
  LaneIndex index;
  VectorClock clock;
};

// Never destroyed: stream threads may still use it while the process ends.
struct State {
  std::mutex mutex;
  std::atomic<uint32_t> checks{0};
  std::atomic<uint64_t> calls{0};
  std::atomic<softnpu_launch_note> launch_note{nullptr};
  VectorClock host;
  std::vector<uint64_t> ticks{0};  // of every lane; they go on when a lane serves another stream
  std::vector<LaneIndex> free_lanes;
  std::unordered_map<int32_t, Lane> lanes;  // by the stream's id
  Allocations allocations;
  LastUses pinned_uses;
  Reporter reporter;
};

State& state() {
  static auto* instance = new State;
  return *instance;
}

thread_local uint64_t current_call = 0;

bool checks(uint32_t what) { return (state().checks.load(std::memory_order_relaxed) & what) != 0; }

// Without the lock: the note may run the program's code.
std::shared_ptr<Operation> make_operation(const char* name, const Stream* stream) {
  auto made = std::make_shared<Operation>();
  made->name = name;
  made->stream = stream == nullptr ? -1 : stream->id;
  made->device = stream == nullptr ? -1 : stream->device;
  made->call = current_call;
  made->thread = int(gettid());
  return made;
}

void add_note(Operation& operation) {
  if (const softnpu_launch_note note = state().launch_note.load())
    if (const char* said = note()) operation.note = said;
}

Lane& lane_of(const Stream& stream) {
  State& s = state();
  const auto found = s.lanes.find(stream.id);
  if (found != s.lanes.end()) return found->second;
  LaneIndex index = LaneIndex(s.ticks.size());
  if (s.free_lanes.empty()) {
    s.ticks.push_back(0);
  } else {
    index = s.free_lanes.back();
    s.free_lanes.pop_back();
  }
  return s.lanes.emplace(stream.id, Lane{index, {}}).first->second;
}

std::string use_text(const Operation& operation, const Access& access, uint64_t bytes, uintptr_t at) {
  std::string out = mt::join_text(operation.name, access.write ? " writes " : " reads ", bytes, " bytes at ",
                                  reinterpret_cast<const void*>(at));
  if (access.argument != nullptr) out += mt::join_text(" (argument '", access.argument, "')");
  return out;
}

// Memory as the program knows it: the piece its allocator gave it, or the allocation.
Memory memory_at(const Allocation& allocation, uintptr_t address) {
  const auto after = allocation.parts.upper_bound(address);
  if (after == allocation.parts.begin()) return allocation.memory;
  const Memory& part = std::prev(after)->second;
  return address < part.bytes.end ? part : allocation.memory;
}

// An operator that picks elements by an index reads some of its operand; which, is not known here. It is
// only wrong for sure if there is nothing to pick from.
bool picks_elements(std::string_view name) {
  for (const std::string_view part : {"Gather", "Index", "Embedding", "Take", "Masked", "Scatter", "Put"})
    if (name.find(part) != name.npos) return true;
  return false;
}

// One operation under examination, with the lock held.
class Examination {
 public:
  Examination(OperationPointer operation, const VectorClock& now)
      : operation_(std::move(operation)), now_(now) {}

  void read(const Access& access, bool hands_on) {
    const Runs runs(access);
    if (runs.empty()) return;
    Allocation* allocation = find(runs.span());
    const bool sound = allocation == nullptr || check_address(access, runs.span());
    if (allocation != nullptr && sound && !hands_on && checks(kUninitialised))
      check_written(access, runs, *allocation);
    follow(access, runs, allocation);
  }

  // `source` is what a copy takes its bytes from, nullptr for an operator.
  void write(const Access& access, const Access* source) {
    const Runs runs(access);
    if (runs.empty()) return;
    Allocation* allocation = find(runs.span());
    if (allocation != nullptr) check_address(access, runs.span());
    if (allocation != nullptr && checks(kUninitialised)) {
      if (source == nullptr || !copy_written(*source, access, *allocation))
        runs.for_each([&](Run run) { set_written(*allocation, run); });
    }
    follow(access, runs, allocation);
  }

 private:
  // The live allocation that holds the whole range, padding included; nullptr if it is not known.
  static Allocation* find(Run range) {
    if (!is_device_address(reinterpret_cast<const void*>(range.begin))) return nullptr;
    Allocation* allocation = state().allocations.find(range.begin);
    if (allocation == nullptr || !allocation->live()) return nullptr;
    return allocation->offset(range.end) > allocation->usable ? nullptr : allocation;
  }

  // False, and told, if the range is not the program's to use.
  bool check_address(const Access& access, Run range) {
    if (!checks(kAddress)) return true;
    const auto defect = state().allocations.examine(range);
    if (!defect) return true;
    state().reporter.tell({.defect = defect->defect,
                           .sentence = use_text(*operation_, access, range.end - range.begin, range.begin) +
                                       "; " + defect->where,
                           .advice = {},
                           .bytes = range,
                           .memory = defect->memory,
                           .operation = operation_,
                           .argument = access.argument,
                           .wrote = access.write,
                           .other = nullptr});
    return false;
  }

  void check_written(const Access& access, const Runs& runs, Allocation& allocation) {
    uint64_t unwritten = 0, total = 0, first = 0;
    runs.for_each([&](Run run) {
      uint64_t at = 0;
      const uint64_t count =
          allocation.written.count_unwritten(allocation.offset(run.begin), allocation.offset(run.end), &at);
      if (count != 0 && unwritten == 0) first = at;
      unwritten += count;
      total += run.end - run.begin;
    });
    if (unwritten == 0 || (unwritten < total && picks_elements(operation_->name))) return;
    const uintptr_t at = allocation.memory.bytes.begin + first;
    state().reporter.tell({.defect = Defect::uninitialised,
                           .sentence = use_text(*operation_, access, total, runs.span().begin) + "; " +
                                       mt::join_text(unwritten, " of them were never written, the first at ",
                                                     reinterpret_cast<const void*>(at)),
                           .advice = {},
                           .bytes = {at, at + unwritten},
                           .memory = memory_at(allocation, at),
                           .operation = operation_,
                           .argument = access.argument,
                           .wrote = false,
                           .other = nullptr});
    // Told once; what is computed from it would only repeat it.
    runs.for_each([&](Run run) { set_written(allocation, run); });
  }

  static void set_written(Allocation& allocation, Run run) {
    allocation.written.set(allocation.offset(run.begin), allocation.offset(run.end), true);
  }

  // Copies the marks of a row-wise copy; false if the source is the host's or not known.
  static bool copy_written(const Access& source, const Access& destination, Allocation& to) {
    const uintptr_t first = uintptr_t(source.address);
    if (!is_device_address(source.address)) return false;
    const Allocation* from = state().allocations.find(first);
    if (from == nullptr) return false;
    const auto [height, width] = std::pair(source.sizes[0], uint64_t(source.sizes[1]));
    for (int64_t row = 0; row < height; ++row) {
      const uint64_t read = from->offset(first + uintptr_t(row * source.strides[0]));
      const uint64_t written =
          to.offset(uintptr_t(destination.address) + uintptr_t(row * destination.strides[0]));
      if (read + width > from->usable) return false;
      uint64_t unwritten_at = 0;
      if (from->written.count_unwritten(read, read + width, &unwritten_at) == 0) {
        to.written.set(written, written + width, true);
        continue;
      }
      for (uint64_t i = 0; i < width; ++i)
        to.written.set(written + i, written + i + 1, from->written.get(read + i));
    }
    return true;
  }

  void follow(const Access& access, const Runs& runs, Allocation* allocation) {
    if (!checks(kRace) || runs.count() > kMostRuns) return;
    LastUses* uses = allocation == nullptr ? nullptr : &allocation->uses;
    if (uses == nullptr) {
      const Run span = runs.span();
      const void* begin = reinterpret_cast<const void*>(span.begin);
      if (is_device_address(begin) || !is_pinned(begin, span.end - span.begin)) return;
      uses = &state().pinned_uses;
    }
    runs.for_each([&](Run run) {
      uses->touch(run, access.write, operation_, now_,
                  [&](const OperationPointer& earlier, bool earlier_wrote, Run shared) {
                    tell_race(access, allocation, earlier, earlier_wrote, shared);
                  });
    });
  }

  void tell_race(const Access& access, const Allocation* allocation, const OperationPointer& earlier,
                 bool earlier_wrote, Run shared) {
    const bool host = operation_->stream < 0;
    state().reporter.tell(
        {.defect = Defect::race,
         .sentence = use_text(*operation_, access, shared.end - shared.begin, shared.begin) + " that " +
                     earlier->name + (earlier_wrote ? " wrote" : " read") + ", with nothing to order the two",
         .advice = host ? "The host must wait for the stream (aclrtSynchronizeStream, or an event) first."
                        : "Record an event behind the earlier one and let this stream wait for it.",
         .bytes = shared,
         .memory = allocation == nullptr ? Memory{} : memory_at(*allocation, shared.begin),
         .operation = operation_,
         .argument = access.argument,
         .wrote = access.write,
         .other = earlier,
         .other_wrote = earlier_wrote});
  }

  const OperationPointer operation_;
  const VectorClock& now_;
};

// With the lock held: a free does not wait, so every use must have come before it.
void check_uses_before_free(const LastUses& uses, Run range, const Memory& memory,
                            const OperationPointer& by) {
  if (!checks(kAddress | kRace)) return;
  uses.check(range, state().host, [&](const OperationPointer& user, bool wrote, Run shared) {
    state().reporter.tell(
        {.defect = Defect::use_after_free,
         .sentence = mt::join_text(by->name, " frees ", range.end - range.begin, " bytes at ",
                                   reinterpret_cast<const void*>(range.begin), " that ", user->name,
                                   " may still be using: the host has not waited for it"),
         .advice = "Synchronise the stream before the memory is freed.",
         .bytes = shared,
         .memory = memory,
         .operation = by,
         .argument = nullptr,
         .wrote = true,
         .other = user,
         .other_wrote = wrote});
  });
}

}  // namespace

bool keeps_freed_addresses() { return on() && checks(kAddress); }

bool parse_checks(const char* list, uint32_t* wanted) {
  *wanted = 0;
  if (list == nullptr || list[0] == '\0' || std::string_view(list) == "0") return true;
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "1" || name == "all") *wanted |= kAddress | kUninitialised | kRace;
    else if (name == "address") *wanted |= kAddress;
    else if (name == "uninitialised") *wanted |= kUninitialised;
    else if (name == "race") *wanted |= kRace;
    else return false;
  }
  return true;
}

void begin_call() { current_call = state().calls.fetch_add(1) + 1; }

void operation(const char* name, const Stream* stream, const std::vector<Access>& accesses, Effect effect) {
  auto made = make_operation(name, stream);
  add_note(*made);
  State& s = state();
  std::lock_guard lock(s.mutex);
  Lane* lane = stream == nullptr ? nullptr : &lane_of(*stream);
  made->lane = lane == nullptr ? kHostLane : lane->index;
  made->tick = ++s.ticks[made->lane];
  VectorClock& clock = lane == nullptr ? s.host : lane->clock;
  clock.join(s.host);
  clock.set(made->lane, made->tick);
  Examination examination(made, clock);
  // Reads first: an operator that works in place reads what was there before.
  for (const Access& access : accesses)
    if (!access.write)
      examination.read(access, effect == Effect::copies && is_device_address(accesses[1].address));
  for (const Access& access : accesses)
    if (access.write) examination.write(access, effect == Effect::copies ? &accesses[0] : nullptr);
}

void refused(const char* name, const char* argument, const void* address, uint64_t bytes, bool write) {
  if (!checks(kAddress)) return;
  const auto by = make_operation(name, nullptr);
  State& s = state();
  std::lock_guard lock(s.mutex);
  const Run range{uintptr_t(address), uintptr_t(address) + bytes};
  auto defect = s.allocations.examine(range);
  if (!is_device_address(address))
    defect = AddressDefect{Defect::out_of_bounds, "that is no device address", {}};
  if (!defect) return;
  s.reporter.tell(
      {.defect = defect->defect,
       .sentence = use_text(*by, Access{address, 1, write, argument, {}, {}}, bytes, range.begin) + "; " +
                   defect->where,
       .advice = {},
       .bytes = range,
       .memory = defect->memory,
       .operation = by,
       .argument = argument,
       .wrote = write,
       .other = nullptr});
}

void allocated(const char* function, const void* address, uint64_t asked, uint64_t usable) {
  auto made = make_operation(function, nullptr);
  std::lock_guard lock(state().mutex);
  state().allocations.add(uintptr_t(address), asked, usable, std::move(made));
}

void freed(const char* function, const void* address) {
  const OperationPointer by = make_operation(function, nullptr);
  State& s = state();
  std::lock_guard lock(s.mutex);
  Allocation* allocation = s.allocations.find(uintptr_t(address));
  if (allocation == nullptr || allocation->memory.bytes.begin != uintptr_t(address) || !allocation->live())
    return;
  check_uses_before_free(allocation->uses, allocation->memory.bytes, allocation->memory, by);
  allocation->free(by);
}

void device_reset(const char* function, uintptr_t begin, uintptr_t end) {
  const OperationPointer by = make_operation(function, nullptr);
  std::lock_guard lock(state().mutex);
  state().allocations.free_all({begin, end}, by);
}

void freed_host(const char* function, const void* address, uint64_t bytes) {
  const OperationPointer by = make_operation(function, nullptr);
  State& s = state();
  std::lock_guard lock(s.mutex);
  const Run range{uintptr_t(address), uintptr_t(address) + bytes};
  check_uses_before_free(s.pinned_uses, range, Memory{}, by);
  s.pinned_uses.forget(range);
}

Stamp stamp(const Stream& stream) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  return std::make_shared<const VectorClock>(lane_of(stream).clock);
}

void host_reached(const Stamp& stamp) {
  if (stamp == nullptr) return;
  State& s = state();
  std::lock_guard lock(s.mutex);
  s.host.join(*stamp);
}

void stream_waits(const Stream& stream, const Stamp& stamp) {
  if (stamp == nullptr) return;
  State& s = state();
  std::lock_guard lock(s.mutex);
  lane_of(stream).clock.join(*stamp);
}

void stream_ended(const Stream& stream) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  const auto found = s.lanes.find(stream.id);
  if (found == s.lanes.end()) return;
  s.host.join(found->second.clock);
  s.free_lanes.push_back(found->second.index);
  s.lanes.erase(found);
}

}  // namespace softnpu::sanitizer

using namespace softnpu;
using namespace softnpu::sanitizer;

SOFTNPU_EXPORT int softnpu_sanitize(const char* what) {
  uint32_t wanted = 0;
  if (!parse_checks(what, &wanted)) return 0;
  State& s = state();
  std::lock_guard lock(s.mutex);
  s.reporter.reset();
  s.checks.store(wanted);
  if (wanted != 0) {
    hook_flags.fetch_or(kSanitize);
  } else {
    hook_flags.fetch_and(~uint32_t(kSanitize));
    // What happens from here on is not seen, so what was known would be wrong later.
    s.allocations.clear();
    s.pinned_uses = {};
  }
  return 1;
}

SOFTNPU_EXPORT int softnpu_sanitizing(void) { return int(state().checks.load()); }

SOFTNPU_EXPORT uint64_t softnpu_sanitizer_reports(void) {
  std::lock_guard lock(state().mutex);
  return state().reporter.count();
}

SOFTNPU_EXPORT int softnpu_sanitize_log(const char* path) {
  std::lock_guard lock(state().mutex);
  return state().reporter.log_to(path);
}

SOFTNPU_EXPORT void softnpu_set_launch_note(softnpu_launch_note note) { state().launch_note.store(note); }

SOFTNPU_EXPORT void softnpu_mark_used(const void* address, uint64_t bytes) {
  if (!on() || bytes == 0) return;
  auto by = make_operation("softnpu_mark_used", nullptr);
  std::lock_guard lock(state().mutex);
  Allocation* allocation = state().allocations.find(uintptr_t(address));
  if (allocation == nullptr || allocation->offset(uintptr_t(address)) + bytes > allocation->usable) return;
  mark_used(*allocation, {uintptr_t(address), uintptr_t(address) + bytes}, std::move(by));
}

SOFTNPU_EXPORT void softnpu_mark_free(const void* address, uint64_t bytes) {
  if (!on() || bytes == 0) return;
  auto by = make_operation("softnpu_mark_free", nullptr);
  std::lock_guard lock(state().mutex);
  Allocation* allocation = state().allocations.find(uintptr_t(address));
  if (allocation == nullptr || allocation->offset(uintptr_t(address)) + bytes > allocation->usable) return;
  mark_free(*allocation, {uintptr_t(address), uintptr_t(address) + bytes}, std::move(by));
}
