#include "devices/launch_log.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"
#include "core/host_position.h"
#include "runtime/spin_lock.h"

// Note [Launches and their lines]
// Errors of the device surface at a wait, far from their cause. So the last launches are kept: the operator's name,
// the stream, and where Python was: a code object and the instruction in it, which becomes a line only when
// someone asks. Looking for the caller's caller would cost as much as a launch; a blocking launch shows the whole
// stack. Launches of a backward pass have no line: it runs without Python.
namespace mt::devices {
namespace {

constexpr size_t kKept = 256;
constexpr size_t kShown = 4;

struct Launch {
  const char* name = nullptr;
  void* stream = nullptr;
  uint64_t number = 0;
  HostPosition position;
};

struct Log {
  runtime::SpinLock lock;
  std::array<Launch, kKept> launches;
  uint64_t count = 0;
  std::map<void*, uint64_t> waited;  // by stream: launches up to this number have ended
  uint64_t waited_for_all = 0;
  std::vector<HostPosition> unused;  // of overwritten entries; dropped by someone who may
};

Log& log() {
  static auto* instance = new Log;
  return *instance;
}

bool has_ended(const Log& log, const Launch& launch) {
  const auto found = log.waited.find(launch.stream);
  return launch.number <= std::max(log.waited_for_all, found == log.waited.end() ? 0 : found->second);
}

}  // namespace

void note_launch(const char* name, void* stream) {
  const HostPosition position = g_host_positions.now ? g_host_positions.now() : HostPosition{};
  Log& all = log();
  HostPosition old;
  std::vector<HostPosition> unused;
  {
    std::lock_guard<runtime::SpinLock> guard(all.lock);
    Launch& launch = all.launches[all.count % kKept];
    old = std::exchange(launch.position, position);
    launch.name = name;
    launch.stream = stream;
    launch.number = ++all.count;
    if (!position.code && old.code) all.unused.push_back(std::exchange(old, {}));
    else if (position.code && !all.unused.empty()) unused.swap(all.unused);
  }
  // A position was taken, so Python's lock is held and old ones may be dropped.
  if (old.code) g_host_positions.drop(old);
  for (const HostPosition& dropped : unused) g_host_positions.drop(dropped);
}

void note_waited(void* stream) {
  Log& all = log();
  std::lock_guard<runtime::SpinLock> guard(all.lock);
  if (stream) {
    all.waited[stream] = all.count;
  } else {
    all.waited_for_all = all.count;
    all.waited.clear();
  }
}

std::string describe_launches(const std::string& message) {
  std::vector<Launch> open;
  Log& all = log();
  // Positions stay valid while Python's lock is held, which describing them takes; see HostPositions.
  if (!g_host_positions.with_lock) return {};
  std::string text;
  g_host_positions.with_lock([&] {
    {
      std::lock_guard<runtime::SpinLock> guard(all.lock);
      const uint64_t oldest = all.count > kKept ? all.count - kKept : 0;
      for (uint64_t number = oldest; number < all.count; ++number) {
        const Launch& launch = all.launches[number % kKept];
        if (!has_ended(all, launch)) open.push_back(launch);
      }
    }
    std::vector<Launch> named;
    for (const Launch& launch : open)
      if (message.find(std::string(launch.name) + " ") != std::string::npos) named.push_back(launch);
    const std::vector<Launch>& shown = named.empty() ? open : named;
    std::vector<std::string> places;
    for (auto launch = shown.rbegin(); launch != shown.rend() && places.size() < kShown; ++launch) {
      const std::string where =
          launch->position.code ? g_host_positions.describe(launch->position) : "in a backward pass";
      const std::string place = named.empty() ? join_text(launch->name, " ", where) : where;
      if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
    }
    if (places.empty()) return;
    text = named.empty() ? " Last launched since the wait before, newest first: "
                         : join_text(" ", named.front().name, " was launched ");
    for (size_t i = 0; i < places.size(); ++i)
      text += (i ? (named.empty() ? "; " : ", or ") : "") + places[i];
    text += ".";
  });
  return text;
}

}  // namespace mt::devices
