#include "backends/cuda/cupti_tracer.h"

#include <cxxabi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "backends/cuda/cuda_driver.h"
#include "backends/cuda/cupti_api.h"
#include "backends/cuda/cupti_records.h"
#include "backends/cuda/vendor_library.h"
#include "base/error.h"

namespace mt::cuda::cupti {
namespace {

// Calls of the driver and of the runtime are asked for although nobody reads them: an id that was pushed is told of a call
// only where the call itself is recorded.
constexpr int kKinds[] = {kExternalIds, kDriverCalls, kRuntimeCalls,     kKernels,
                          kCopies,      kPeerCopies,  kSynchronizations, kFills};
constexpr size_t kBufferBytes = size_t(4) << 20, kBufferAlignment = 8;
constexpr int kLooks = 5;  // at the clock; the shortest counts
constexpr int64_t kShortSession =
    1'000'000'000;  // ns; drift is smaller than what a look at the clock is off by

// CUPTI's clock and ours at one moment.
struct Moment {
  int64_t there = 0, here = 0;
};

Moment look_at_clocks() {
  const auto now = [] {
    using namespace std::chrono;
    return int64_t(duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
  };
  Moment best;
  int64_t shortest = INT64_MAX;
  for (int i = 0; i < kLooks; ++i) {
    uint64_t there = 0;
    const int64_t before = now();
    check(api().timestamp(&there), "cuptiGetTimestamp");
    const int64_t took = now() - before;
    if (took >= shortest) continue;
    shortest = took;
    best = {int64_t(there), before + took / 2};
  }
  return best;
}

// From CUPTI's clock to ours, by what both said at the beginning and at the end.
class ClockConversion {
 public:
  ClockConversion(Moment begin, Moment end) : begin_(begin) {
    const int64_t there = end.there - begin.there, here = end.here - begin.here;
    if (here > kShortSession && there > 0) rate_ = double(here) / double(there) - 1;
  }
  int64_t operator()(int64_t there) const {
    const int64_t since = there - begin_.there;
    return begin_.here + since + std::llround(double(since) * rate_);
  }

 private:
  Moment begin_;
  double rate_ = 0;
};

const char* memory_text(int kind) {
  static constexpr const char* texts[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                          "Array",   "Managed",  "Device Static", "Managed Static"};
  return kind >= 0 && kind < int(std::size(texts)) ? texts[kind] : texts[0];
}

const char* copy_text(int kind) {
  static constexpr const char* texts[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                          "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
  return kind >= 0 && kind < int(std::size(texts)) ? texts[kind] : texts[0];
}

// A record as it came, on CUPTI's clock.
struct Found {
  TaskKind kind;
  uint32_t correlation, device, stream;
  const char *name, *details;
  int64_t bytes;
  int64_t start, end;
};

class Texts {
 public:
  const char* keep(std::string text) { return texts_.insert(std::move(text)).first->c_str(); }
  // The readable name of a kernel. CUPTI has one text for all records of it.
  const char* kernel(const char* name) {
    if (!name) return "unknown kernel";
    const char*& known = names_[name];
    if (!known) {
      int status = 0;
      char* readable = abi::__cxa_demangle(name, nullptr, nullptr, &status);
      known = keep(status == 0 && readable ? readable : name);
      std::free(readable);
    }
    return known;
  }

 private:
  std::unordered_set<std::string> texts_;  // whose nodes stay where they are
  std::unordered_map<std::string, const char*> names_;
};

class Tracer final : public TaskTracer {
 public:
  bool in_use() const override { return gpu().is_initialized() && !gpu().is_in_bad_fork(); }
  std::string start() override;
  void collect(bool enable) override { enable_kinds(enable); }
  void enter(int64_t launch, const TaskInfo& task) override;
  void leave() noexcept override;
  Traced stop() override;

  // Called by CUPTI, on threads of its own too.
  static void give_buffer(uint8_t** buffer, size_t* bytes, size_t* most_records);
  static void take_buffer(void* context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid_bytes);

 private:
  void enable_kinds(bool enable);
  void learn_stream(int device, void* stream);
  void wait_for_devices();
  void read(uint8_t* buffer, size_t valid_bytes);
  void add(TaskKind kind, uint32_t correlation, uint32_t device, uint32_t stream, const char* name,
           const char* details, uint64_t bytes, uint64_t start, uint64_t end);
  std::string shape_of(const void* record);

  std::mutex mutex_;  // all below
  std::shared_ptr<Texts> texts_ = std::make_shared<Texts>();
  std::vector<Found> found_;
  std::unordered_map<uint32_t, int64_t> launches_;        // by CUPTI's correlation
  std::map<std::pair<int, StreamHandle>, uint32_t> ids_;  // of streams: CUPTI's numbers, by device
  std::unordered_set<const uint8_t*> buffers_;            // that CUPTI has
  std::vector<int> processors_;                           // of each device
  size_t dropped_ = 0;
  Moment begin_;
};

Tracer& the_tracer() {
  static auto* made = new Tracer;  // never destroyed: CUPTI may hand buffers over while the process ends
  return *made;
}

std::string Tracer::start() {
  if (!cupti_library().available()) return cupti_library().problem() + ".";
  const Api& cupti = api();
  {
    std::vector<int> processors;
    for (int device = 0; device < gpu().device_count(); ++device)
      processors.push_back(driver().attribute(device, kProcessors));
    const std::lock_guard guard(mutex_);
    processors_ = std::move(processors);
    texts_ = std::make_shared<Texts>();
    found_.clear();
    launches_.clear();
    ids_.clear();
    dropped_ = 0;
  }
  // Each time: another user of CUPTI in the process may have put functions of its own there.
  check(cupti.register_buffers(&give_buffer, &take_buffer), "cuptiActivityRegisterCallbacks");
  try {
    begin_ = look_at_clocks();
    for (const int kind : kKinds) check(cupti.enable(kind), "cuptiActivityEnable");
  } catch (const Error&) {
    enable_kinds(false);
    throw;
  }
  return {};
}

void Tracer::enable_kinds(bool enable) {
  for (const int kind : kKinds) enable ? api().enable(kind) : api().disable(kind);
}

// No call of CUPTI's with our lock held: it calls back with locks of its own.
void Tracer::learn_stream(int device, void* stream) {
  const std::pair place(device, StreamHandle(stream));
  {
    const std::lock_guard guard(mutex_);
    if (ids_.contains(place)) return;
  }
  uint32_t id = 0;
  // One that CUPTI does not know is named by the number in its records.
  const bool known = api().stream_id(nullptr, stream, 0, &id) == 0;
  const std::lock_guard guard(mutex_);
  ids_.emplace(place, known ? id : UINT32_MAX);
}

void Tracer::enter(int64_t launch, const TaskInfo& task) {
  if (task.stream) learn_stream(task.device.index, task.stream);
  check(api().push_id(kOurIds, uint64_t(launch)), "cuptiActivityPushExternalCorrelationId");
}

void Tracer::leave() noexcept {
  uint64_t last = 0;
  api().pop_id(kOurIds, &last);
}

// Records are complete when their work is. A device that captures a graph is not waited for: that would spoil the graph.
void Tracer::wait_for_devices() {
  std::map<int, bool> devices;  // to wait for
  {
    const std::lock_guard guard(mutex_);
    for (const auto& [place, id] : ids_) {
      bool& wait = devices.try_emplace(place.first, true).first->second;
      wait &= !gpu().capture_of(place.first, reinterpret_cast<void*>(place.second));
    }
  }
  for (const auto& [device, wait] : devices)
    if (wait) gpu().synchronize(device);
}

Traced Tracer::stop() {
  Traced traced;
  try {
    wait_for_devices();
  } catch (const Error& error) {
    // A device that fails is reported by the next wait for it. Here it leaves work without times.
    traced.problem = join_text("Times of the work that was not done are missing: ", error.what());
  }
  Moment end = begin_;
  try {
    end = look_at_clocks();
    enable_kinds(false);
    check(api().flush(kForced), "cuptiActivityFlushAll");
  } catch (const Error& error) {
    traced.problem = join_text("Work of GPUs is missing in the trace: ", error.what());
  }

  const std::lock_guard guard(mutex_);
  if (dropped_ > 0)
    traced.problem =
        join_text("CUPTI lost ", dropped_, " records for want of memory: profile fewer steps at once.");
  std::map<std::pair<int, uint32_t>, StreamHandle> streams;
  for (const auto& [place, id] : ids_)
    if (id != UINT32_MAX) streams[{place.first, id}] = place.second;
  const ClockConversion to_ours(begin_, end);
  traced.tasks.reserve(found_.size());
  for (const Found& found : found_) {
    const auto launch = launches_.find(found.correlation);
    const auto stream = streams.find({int(found.device), found.stream});
    // A number is no address: it tells streams apart that were made by others.
    const StreamHandle handle = stream == streams.end() ? StreamHandle(found.stream) + 1 : stream->second;
    traced.tasks.push_back({found.kind, launch == launches_.end() ? 0 : launch->second, found.name,
                            found.details, Device{kSlot, int8_t(found.device)}, handle, found.bytes,
                            to_ours(found.start), to_ours(found.end)});
  }
  traced.texts = std::exchange(texts_, std::make_shared<Texts>());
  found_.clear();
  launches_.clear();
  return traced;
}

void Tracer::give_buffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *most_records = 0;  // as many as there is room for
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *bytes = *buffer ? kBufferBytes : 0;  // without one CUPTI drops records, and counts them
  const std::lock_guard guard(the_tracer().mutex_);
  if (*buffer) the_tracer().buffers_.insert(*buffer);
}

void Tracer::take_buffer(void* context, uint32_t stream, uint8_t* buffer, size_t, size_t valid_bytes) {
  if (!buffer) return;
  Tracer& tracer = the_tracer();
  size_t dropped = 0;
  if (api().dropped_records(context, stream, &dropped) != 0) dropped = 0;
  const std::lock_guard guard(tracer.mutex_);
  tracer.dropped_ += dropped;
  tracer.read(buffer, valid_bytes);
  if (tracer.buffers_.erase(buffer)) std::free(buffer);  // another's is not ours to free
}

std::string Tracer::shape_of(const void* record) {
  const auto x = KernelGridX::of(record), y = KernelGridY::of(record), z = KernelGridZ::of(record);
  const auto bx = KernelBlockX::of(record), by = KernelBlockY::of(record), bz = KernelBlockZ::of(record);
  std::string text =
      join_text("\"registers per thread\": ", KernelRegisters::of(record),
                ", \"shared memory\": ", KernelStaticShared::of(record) + KernelDynamicShared::of(record));
  const uint32_t device = KernelDevice::of(record);
  if (const int count = device < processors_.size() ? processors_[device] : 0; count > 0) {
    const double blocks = double(x) * double(y) * double(z) / count;
    const double threads = double(bx) * double(by) * double(bz);
    char ratios[96];
    std::snprintf(ratios, sizeof ratios, ", \"blocks per SM\": %g, \"warps per SM\": %g", blocks,
                  blocks * threads / 32);
    text += ratios;
  }
  return text +
         join_text(", \"grid\": [", x, ", ", y, ", ", z, "], \"block\": [", bx, ", ", by, ", ", bz, "]");
}

void Tracer::add(TaskKind kind, uint32_t correlation, uint32_t device, uint32_t stream, const char* name,
                 const char* details, uint64_t bytes, uint64_t start, uint64_t end) {
  if (start == 0 || end == 0) return;  // not done when the buffer was asked for
  found_.push_back(
      {kind, correlation, device, stream, name, details, int64_t(bytes), int64_t(start), int64_t(end)});
}

void Tracer::read(uint8_t* buffer, size_t valid_bytes) {
  Record* record = nullptr;
  while (api().next_record(buffer, valid_bytes, &record) == 0) {
    switch (record->kind) {
      case kExternalIds:
        if (ExternalKind::of(record) == unsigned(kOurIds))
          launches_[ExternalCorrelation::of(record)] = int64_t(ExternalId::of(record));
        break;
      case kKernels:
        add(TaskKind::kernel, KernelCorrelation::of(record), KernelDevice::of(record),
            KernelStream::of(record), texts_->kernel(KernelName::of(record)), texts_->keep(shape_of(record)),
            0, KernelStart::of(record), KernelEnd::of(record));
        break;
      case kCopies:
        add(TaskKind::copy, CopyCorrelation::of(record), CopyDevice::of(record), CopyStream::of(record),
            texts_->keep(join_text("Memcpy ", copy_text(CopyKind::of(record)), " (",
                                   memory_text(CopyFrom::of(record)), " -> ", memory_text(CopyTo::of(record)),
                                   ")")),
            "", CopyBytes::of(record), CopyStart::of(record), CopyEnd::of(record));
        break;
      case kPeerCopies:
        add(TaskKind::copy, PeerCopyCorrelation::of(record), PeerCopyDevice::of(record),
            PeerCopyStream::of(record), "Memcpy PtoP (Device -> Device)", "", PeerCopyBytes::of(record),
            PeerCopyStart::of(record), PeerCopyEnd::of(record));
        break;
      case kFills:
        add(TaskKind::fill, FillCorrelation::of(record), FillDevice::of(record), FillStream::of(record),
            texts_->keep(join_text("Memset (", memory_text(FillMemory::of(record)), ")")), "",
            FillBytes::of(record), FillStart::of(record), FillEnd::of(record));
        break;
      case kSynchronizations:
        if (SyncType::of(record) == unsigned(kStreamWaitEvent))
          add(TaskKind::stream_wait, SyncCorrelation::of(record), 0, 0, "Stream Wait Event", "", 0,
              SyncStart::of(record), SyncEnd::of(record));
        break;
      default: break;  // calls
    }
  }
}

}  // namespace

TaskTracer& tracer() { return the_tracer(); }

std::vector<FieldPlace> field_places() {
  std::vector<FieldPlace> places;
#define X(name, structure, field, type, place) \
  places.push_back({structure, field, name::kPlace, name::kBytes});
  MT_CUPTI_FIELDS(X)
#undef X
  return places;
}

}  // namespace mt::cuda::cupti
