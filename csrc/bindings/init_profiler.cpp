// _C._profiler: the recorder, and recorded traces as rows for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <set>

#include "base/dtype.h"
#include "base/error.h"
#include "bindings/casters.h"
#include "bindings/python_calls.h"
#include "bindings/python_lock.h"
#include "bindings/python_stack.h"
#include "profiler/recorder.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace mt::bindings {
namespace {

using namespace mt::profiler;

// The devices whose memory the running session watches. With Python's lock held.
std::vector<Device> g_watched;

void watch_memory(Device device) {
  accelerator(device.type).watch_memory(device.index, [device](const MemoryChange& change) {
    Recorder::get().memory_changed(device, change);
  });
  g_watched.push_back(device);
}

void unwatch_memory() {
  for (const Device device : std::exchange(g_watched, {}))
    accelerator(device.type).watch_memory(device.index, {});
}

// Devices as small numbers: -1 for the host, the index for those of the first accelerator, more for others'.
int place(Device device) {
  if (!device.is_accelerator()) return -1;
  return (int(device.type) - int(DeviceType::accelerator)) * kMaxDevices + device.index;
}

Device device_at(int place) {
  if (place < 0) return {};
  return {DeviceType(int(DeviceType::accelerator) + place / kMaxDevices), int8_t(place % kMaxDevices)};
}

void unwatch() {
  unwatch_memory();
  unwatch_python_calls();
}

uint64_t start(bool ops, bool tasks, bool shapes, bool memory, bool stacks,
               const std::vector<Device>& devices) {
  unwatch();  // of a recording that is taken over
  const uint64_t session = Recorder::get().start(
      {.ops = ops, .tasks = tasks, .shapes = shapes, .memory = memory, .stacks = stacks});
  try {
    if (memory)
      for (const Device device : devices) watch_memory(device);
    if (ops && stacks) watch_python_calls();
  } catch (...) {  // passed on; the session must not stay behind
    Recorder::get().stop(session);
    unwatch();
    throw;
  }
  return session;
}

Trace stop(uint64_t session) {
  Trace trace;
  {
    WithoutPythonLock without_gil;  // it may wait for a device
    trace = Recorder::get().stop(session);
  }
  if (!trace.taken_over) unwatch();
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

nb::object begin_scope(const std::string& name, bool module) {
  OpenScope open = Recorder::get().begin_scope(name, module ? EventKind::module : EventKind::scope);
  if (!open.event) return nb::none();
  return nb::cast(Scope(std::move(open)));
}

// A collective: where the program asks for it, which counts as an operator, or where it is carried out.
nb::object begin_collective(const std::string& name, const std::string& details, bool asked) {
  OpenScope open = Recorder::get().begin_scope(name, asked ? EventKind::op : EventKind::scope, details);
  if (!open.event) return nb::none();
  return nb::cast(Scope(std::move(open)));
}

// Reads what encode_inputs wrote (profiler/inputs.h).
class Decoder {
 public:
  explicit Decoder(const int64_t* in) : in_(in + 1) {}  // after the number of words

  nb::list all() {
    nb::list result;
    for (int64_t left = *in_++; left > 0; --left) result.append(one());
    return result;
  }

 private:
  using Kind = ObservedArgument::Kind;

  nb::list integers(int64_t count) {
    nb::list values;
    for (; count > 0; --count) values.append(*in_++);
    return values;
  }

  nb::object one() {
    const auto tag = *in_++;
    switch (Kind(tag)) {
      case Kind::tensor: {
        const char* dtype = info(DType(*in_++)).name;
        const int64_t ndim = *in_++;
        nb::list sizes = integers(ndim), strides = integers(ndim);
        return nb::make_tuple(tag, dtype, sizes, strides);
      }
      case Kind::tensors: {
        nb::list tensors;
        for (int64_t left = *in_++; left > 0; --left) tensors.append(one());
        return nb::make_tuple(tag, tensors);
      }
      case Kind::boolean: return nb::make_tuple(tag, *in_++ != 0);
      case Kind::integer: return nb::make_tuple(tag, *in_++);
      case Kind::real: return nb::make_tuple(tag, std::bit_cast<double>(*in_++));
      case Kind::integers: return nb::make_tuple(tag, integers(*in_++));
      case Kind::text: {
        const int64_t bytes = *in_++;
        nb::object text =
            nb::steal(PyUnicode_DecodeUTF8(reinterpret_cast<const char*>(in_), Py_ssize_t(bytes), "replace"));
        in_ += (bytes + 7) / 8;
        return nb::make_tuple(tag, text);
      }
      default: return nb::none();
    }
  }

  const int64_t* in_;
};

nb::object known(int64_t bytes) { return bytes == kUnknown ? nb::none() : nb::object(nb::int_(bytes)); }

// As bytes, which Python keeps one copy of what it reads from them by.
nb::object inputs_of(const Event& event) {
  if (!event.inputs) return nb::none();
  return nb::bytes(reinterpret_cast<const char*>(event.inputs), size_t(event.inputs[0]) * sizeof(int64_t));
}

nb::list decode_inputs(const nb::bytes& inputs) {
  std::vector<int64_t> words(inputs.size() / sizeof(int64_t));
  MT_CHECK(words.size() >= 2, "decode_inputs: these are not inputs of an operator");
  std::memcpy(words.data(), inputs.c_str(), words.size() * sizeof(int64_t));
  return Decoder(words.data()).all();
}

nb::object data_of(const Event& event) {
  const auto before = event.memory_before.load(std::memory_order_relaxed);
  const auto after = event.memory_after.load(std::memory_order_relaxed);
  if (event.kind == EventKind::memory) return nb::make_tuple(event.bytes, after, event.total_reserved);
  return nb::make_tuple(known(before), known(after), event.stack, inputs_of(event), event.details);
}

nb::tuple row(const Trace& trace, size_t thread, const Event& event, int64_t first_id) {
  return nb::make_tuple(int(event.kind), event.name, event.overload, thread, event.start_ns,
                        trace.end_of(event), event.parent < 0 ? int64_t(-1) : first_id + event.parent,
                        event.step, place(event.device.load(std::memory_order_relaxed)),
                        event.number.load(std::memory_order_relaxed), data_of(event));
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

// Streams as small numbers, for people: a device's default stream is 1, the others count from 2 in the order of their
// first use.
class StreamNumbers {
 public:
  int64_t operator()(Device device, StreamHandle stream) {
    if (!stream) return -1;
    auto& known = streams_[place(device)];
    if (known.empty()) known.push_back(StreamHandle(opened_default_stream(device)));
    const auto found = std::ranges::find(known, stream);
    if (found != known.end()) return found - known.begin() + 1;
    known.push_back(stream);
    return int64_t(known.size());
  }

 private:
  std::map<int, std::vector<StreamHandle>> streams_;
};

nb::list tasks(const Trace& trace) {
  std::map<int32_t, std::pair<size_t, int64_t>> threads;  // by number: index, id of the first event
  int64_t first = 0;
  for (size_t i = 0; i < trace.threads.size(); ++i) {
    threads[trace.threads[i].number] = {i, first};
    first += trace.threads[i].count;
  }
  StreamNumbers number;
  nb::list result;
  for (const Task& task : trace.tasks) {
    const auto known = threads.find(task.thread);
    const int64_t thread = known == threads.end() ? -1 : int64_t(known->second.first);
    const int64_t first_id = known == threads.end() ? 0 : known->second.second;
    result.append(nb::make_tuple(int(task.kind), task.call, task.name, place(task.device),
                                 number(task.device, task.stream), task.bytes, task.correlation, task.awaited,
                                 thread, task.op < 0 ? int64_t(-1) : first_id + task.op, task.launch_ns,
                                 task.start_ns, task.end_ns, task.details));
  }
  return result;
}

// What the numbers of devices in rows and tasks stand for.
nb::dict devices_of(const Trace& trace) {
  std::map<int, Device> seen;
  for (const ThreadEvents& events : trace.threads)
    for (uint32_t i = 0; i < events.count; ++i) {
      const Device device = events[i].device.load(std::memory_order_relaxed);
      if (device.is_accelerator()) seen.emplace(place(device), device);
    }
  for (const Task& task : trace.tasks) seen.emplace(place(task.device), task.device);
  nb::dict result;
  for (const auto& [number, device] : seen) result[nb::int_(number)] = device;
  return result;
}

// Rows, tasks and arguments say their kinds as these numbers.
void add_kinds(nb::module_& m) {
  nb::enum_<EventKind>(m, "EventKind", nb::is_arithmetic(), "What happened on the host.")
      .value("OPERATOR", EventKind::op)
      .value("ANNOTATION", EventKind::scope)
      .value("MEMORY", EventKind::memory)
      .value("VISIT", EventKind::visit)
      .value("RUN", EventKind::run)
      .value("MODULE", EventKind::module)
      .value("CALL", EventKind::call)
      .value("PYTHON", EventKind::python);
  nb::enum_<TaskKind>(m, "TaskKind", nb::is_arithmetic(), "What a device was asked for.")
      .value("KERNEL", TaskKind::kernel)
      .value("COPY", TaskKind::copy)
      .value("FILL", TaskKind::fill)
      .value("STREAM_WAIT", TaskKind::stream_wait)
      .value("RECORD_EVENT", TaskKind::record_event)
      .value("HOST_COPY", TaskKind::host_copy)
      .value("STREAM_SYNC", TaskKind::stream_sync)
      .value("EVENT_SYNC", TaskKind::event_sync)
      .value("DEVICE_SYNC", TaskKind::device_sync);
  using Kind = ObservedArgument::Kind;
  nb::enum_<Kind>(m, "ArgumentKind", nb::is_arithmetic(), "What an argument of an operator was.")
      .value("TENSOR", Kind::tensor)
      .value("TENSORS", Kind::tensors)
      .value("BOOLEAN", Kind::boolean)
      .value("INTEGER", Kind::integer)
      .value("REAL", Kind::real)
      .value("INTEGERS", Kind::integers)
      .value("TEXT", Kind::text);
}

}  // namespace

void init_profiler(nb::module_& parent) {
  Recorder::get().set_stack_reader(&python_stack_id);

  nb::module_ m =
      parent.def_submodule("_profiler", "Records operators, annotations, memory and the work of devices.");

  add_kinds(m);
  nb::class_<Scope>(m, "Scope").def("end", &Scope::end);
  nb::class_<Trace>(m, "Trace")
      .def("__len__", &Trace::size)
      .def_ro("start_ns", &Trace::start_ns)
      .def_ro("stop_ns", &Trace::stop_ns)
      .def_ro("epoch_offset_ns", &Trace::epoch_offset_ns)
      .def_ro("taken_over", &Trace::taken_over)
      .def_ro("problems", &Trace::problems)
      .def("threads",
           [](const Trace& trace) {
             nb::list result;  // (number, system id)
             for (const ThreadEvents& thread : trace.threads)
               result.append(nb::make_tuple(thread.number, thread.system_id));
             return result;
           })
      .def("devices", &devices_of)
      // Tuples of: kind (EventKind), name, overload, index into threads(), start, end, id of the parent or -1, step,
      // device or -1 (see devices()), number (Event::number), and (memory before, memory after, stack, arguments, details), or for memory
      // (bytes, total allocated, total reserved).
      .def("rows", &rows, "begin"_a, "end"_a)
      // Tuples of: kind (TaskKind), call, name, device, stream or -1, bytes, correlation, awaited correlation or -1,
      // index into threads() or -1, id of the operator or -1, launch, start, end (both 0: unknown), details.
      .def("tasks", &tasks);

  m.def("start", &start, "ops"_a, "tasks"_a, "shapes"_a, "memory"_a, "stacks"_a, "devices"_a);
  m.attr("most_devices") = kMaxDevices;
  m.def("device", &device_at, "number"_a, "What the number of a device in rows and tasks stands for.");
  m.def("stop", &stop, "session"_a);
  m.def("recording", [] { return Recorder::get().recording(); });
  m.def("set_step", [](int32_t step) { Recorder::get().set_step(step); }, "step"_a);
  m.def(
      "collect", [](bool enable, bool ops, bool tasks) { Recorder::get().collect(enable, ops, tasks); },
      "enable"_a, "ops"_a, "tasks"_a);
  m.def("forget", [] {
    Recorder::get().forget();
    unwatch_python_calls();
  });
  m.def("hide_calls", &hide_python_calls, "places"_a, "Calls in files that begin so are not recorded.");
  m.def("watch_calls_here", &watch_python_calls_here, "The calling thread reports its Python calls.");
  m.def("begin_scope", &begin_scope, "name"_a, "module"_a);
  m.def("begin_collective", &begin_collective, "name"_a, "details"_a, "asked"_a);
  m.def("decode_inputs", &decode_inputs, "inputs"_a, "The arguments that a row has as bytes.");
  m.def("stack", &python_stack, "id"_a, "Tuples (file, line, function), the innermost first.");
}

}  // namespace mt::bindings
