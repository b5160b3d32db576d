// _C._profiler: the recorder, and recorded traces as rows.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/dtype.h"
#include "base/error.h"
#include "profiler/recorder.h"
#include "runtime/registry.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace mt::bindings {
namespace {

using namespace mt::profiler;
using runtime::AllocatorRegistry;
using runtime::CachingAllocator;

// The NPU allocators whose memory the running session watches. The registry keeps allocators for ever.
std::array<std::atomic<CachingAllocator*>, AllocatorRegistry::kMaxDevices> g_watched{};

int64_t read_npu_memory(int npu) noexcept {
  if (npu < 0 || npu >= int(g_watched.size())) return -1;
  CachingAllocator* allocator = g_watched[npu].load(std::memory_order_acquire);
  return allocator ? allocator->stats().allocated_bytes.all.current : -1;
}

void watch_memory(int npu) {
  CachingAllocator& allocator = runtime::allocators("npu").at(npu);
  g_watched[npu].store(&allocator, std::memory_order_release);
  allocator.set_memory_observer([npu](const runtime::MemoryEvent& event) {
    Recorder::get().memory_changed(
        {npu, uint64_t(event.address), event.bytes, event.total_allocated, event.total_reserved});
  });
}

void unwatch_memory() {
  for (auto& slot : g_watched)
    if (CachingAllocator* allocator = slot.exchange(nullptr)) allocator->set_memory_observer({});
}

void start(bool record_shapes, bool profile_memory, const std::vector<int>& npus) {
  Recorder::get().start({record_shapes, profile_memory});
  if (!profile_memory) return;
  try {
    for (int npu : npus) watch_memory(npu);
  } catch (...) {  // passed on; the session must not stay behind
    Recorder::get().stop();
    unwatch_memory();
    throw;
  }
}

Trace stop() {
  Trace trace = Recorder::get().stop();
  unwatch_memory();
  return trace;
}

// An annotation that was begun while recording; None stands for one that was not.
class Scope {
 public:
  explicit Scope(OpenScope open) : open_(std::move(open)) {}
  void end() {
    Recorder::get().end_scope(open_);
    open_ = {nullptr, nullptr};
  }

 private:
  OpenScope open_;
};

nb::object begin_scope(const std::string& name) {
  OpenScope open = Recorder::get().begin_scope(name);
  if (!open.event) return nb::none();
  return nb::cast(Scope(std::move(open)));
}

nb::object inputs_of(const Event& event) {
  const int64_t* in = event.inputs;
  if (!in) return nb::none();
  nb::list result;
  const auto take = [&in](int64_t count) {
    nb::list values;
    for (int64_t i = 0; i < count; ++i) values.append(*in++);
    return values;
  };
  for (int64_t left = *in++; left > 0; --left) {
    const int64_t dtype = *in++;
    if (dtype < 0) {
      result.append(nb::none());
      continue;
    }
    const int64_t ndim = *in++;
    nb::list sizes = take(ndim);
    nb::list strides = take(ndim);
    result.append(nb::make_tuple(info(DType(dtype)).name, sizes, strides));
  }
  return result;
}

nb::object data_of(const Event& event) {
  const auto after = event.memory_after.load(std::memory_order_relaxed);
  if (event.kind == EventKind::memory)
    return nb::make_tuple(event.bytes, after, event.total_reserved, event.address);
  return nb::make_tuple(event.memory_before.load(std::memory_order_relaxed), after, inputs_of(event));
}

nb::tuple row(const Trace& trace, size_t thread, const Event& event, int64_t first_id) {
  return nb::make_tuple(int(event.kind), event.name, event.overload, thread, event.start_ns,
                        trace.end_of(event), event.parent < 0 ? int64_t(-1) : first_id + event.parent,
                        event.step, int(event.npu.load(std::memory_order_relaxed)), data_of(event));
}

nb::list rows(const Trace& trace, uint64_t begin, uint64_t end) {
  nb::list result;
  uint64_t first = 0;
  for (size_t thread = 0; thread < trace.threads.size(); ++thread) {
    const ThreadEvents& events = trace.threads[thread];
    const uint64_t last = first + events.count;
    for (uint64_t id = std::max(begin, first); id < std::min(end, last); ++id)
      result.append(row(trace, thread, events[uint32_t(id - first)], int64_t(first)));
    first = last;
  }
  return result;
}

std::vector<int> npus_of(const Trace& trace) {
  std::set<int> seen;
  for (const ThreadEvents& events : trace.threads)
    for (uint32_t i = 0; i < events.count; ++i) {
      const int npu = events[i].npu.load(std::memory_order_relaxed);
      if (npu >= 0) seen.insert(npu);
    }
  return {seen.begin(), seen.end()};
}

}  // namespace

void init_profiler(nb::module_& parent) {
  Recorder::get().set_memory_reader(&read_npu_memory);

  nb::module_ m = parent.def_submodule("_profiler", "Records operators, annotations and device memory.");

  nb::class_<Scope>(m, "Scope").def("end", &Scope::end);
  nb::class_<Trace>(m, "Trace")
      .def("__len__", &Trace::size)
      .def_ro("start_ns", &Trace::start_ns)
      .def_ro("stop_ns", &Trace::stop_ns)
      .def_ro("epoch_offset_ns", &Trace::epoch_offset_ns)
      .def_prop_ro("record_shapes", [](const Trace& trace) { return trace.options.shapes; })
      .def_prop_ro("profile_memory", [](const Trace& trace) { return trace.options.memory; })
      .def("threads",
           [](const Trace& trace) {
             nb::list result;  // (number, system id)
             for (const ThreadEvents& thread : trace.threads)
               result.append(nb::make_tuple(thread.number, thread.system_id));
             return result;
           })
      .def("npus", &npus_of)
      // Tuples of: kind (0 operator, 1 annotation, 2 memory), name, overload, index into threads(), start, end, id of
      // the parent or -1, step, NPU or -1, and (memory before, memory after, inputs), or for memory
      // (bytes, total allocated, total reserved, address).
      .def("rows", &rows, "begin"_a, "end"_a);

  m.def("start", &start, "record_shapes"_a, "profile_memory"_a, "npus"_a);
  m.def("stop", &stop);
  m.def("recording", [] { return Recorder::get().recording(); });
  m.def("set_step", [](int32_t step) { Recorder::get().set_step(step); }, "step"_a);
  m.def("begin_scope", &begin_scope, "name"_a);
}

}  // namespace mt::bindings
