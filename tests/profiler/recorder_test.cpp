// The recorder by itself: nesting, sessions, threads, memory. Ends with a non-zero status at the first failure.
#include "profiler/recorder.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>

#include "base/error.h"
#include "private_device.h"

namespace {

using mt::OpInfo;
using mt::OpScope;
using mt::Tensor;
using namespace mt::profiler;

constexpr OpInfo kOuter{"aten::outer", ""};
constexpr OpInfo kInner{"aten::inner", "Tensor"};

#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) {                                                           \
      std::printf("FAILED %s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                               \
    }                                                                             \
  } while (0)

Recorder& recorder() { return Recorder::get(); }

uint64_t g_session = 0;
void start(RecordOptions options) { g_session = recorder().start(options); }
Trace stop() { return recorder().stop(g_session); }

constexpr mt::Device kHost{};
mt::Device place(int index) { return {mt::private_device::kSlot, int8_t(index)}; }

Tensor on_device(int index) {
  return mt::tensor_over(mt::wrap_storage(place(index), nullptr, 24, nullptr, nullptr), mt::DType::float32,
                         std::vector<int64_t>{2, 3}, std::vector<int64_t>{3, 1}, 0);
}
// Memory of the device: a block of 512 bytes.
Tensor new_on_device(int index) {
  return mt::new_tensor(std::vector<int64_t>{2, 3}, mt::DType::float32, place(index));
}

// The recorder hears of a device's memory.
struct Watched {
  explicit Watched(int index) : index_(index) {
    mt::private_device::device().watch_memory(
        index, [index](const mt::MemoryChange& change) { recorder().memory_changed(place(index), change); });
  }
  ~Watched() { mt::private_device::device().watch_memory(index_, {}); }
  int index_;
};

bool named(const Event& event, const char* name) { return std::strcmp(event.name, name) == 0; }

void python_calls_are_around_what_they_do() {
  int outer_frame = 0, inner_frame = 0, other_frame = 0;
  start({});
  CHECK(recorder().wants_callers() && !recorder().wants_callers());
  recorder().add_caller("main", &outer_frame);
  recorder().begin_call("function", &inner_frame);
  { OpScope op(kInner); }
  recorder().begin_call("not ended", &other_frame);
  recorder().end_call(&inner_frame);
  recorder().end_call(&other_frame);  // gone with the one around it
  { OpScope op(kOuter); }
  const Trace trace = stop();
  CHECK(trace.size() == 5);
  const ThreadEvents& events = trace.threads[0];
  CHECK(named(events[0], "main") && events[0].start_ns == trace.start_ns && events[0].parent == -1);
  CHECK(named(events[1], "function") && events[1].kind == EventKind::python && events[1].parent == 0);
  CHECK(named(events[2], "aten::inner") && events[2].parent == 1);
  CHECK(named(events[3], "not ended") && events[3].parent == 1);
  CHECK(trace.end_of(events[3]) <= trace.end_of(events[1]) && trace.end_of(events[1]) < trace.stop_ns);
  CHECK(named(events[4], "aten::outer") && events[4].parent == 0);
  CHECK(trace.end_of(events[0]) == trace.stop_ns);
}

void what_is_left_out_is_not_recorded() {
  start({});
  recorder().collect(false, true, false);
  {
    OpScope outer(kOuter);
    recorder().collect(true, true, false);
    OpScope inner(kInner);
  }
  const Trace trace = stop();
  CHECK(trace.size() == 1 && named(trace.threads[0][0], "aten::inner") && trace.threads[0][0].parent == -1);
}

void inner_operators_have_the_outer_one_as_parent() {
  start({});
  {
    OpScope outer(kOuter);
    OpScope inner(kInner);
  }
  const Trace trace = stop();
  CHECK(trace.size() == 2 && trace.threads.size() == 1);
  const Event &outer = trace.threads[0][0], &inner = trace.threads[0][1];
  CHECK(named(outer, "aten::outer") && outer.parent == -1);
  CHECK(named(inner, "aten::inner") && inner.parent == 0);
  CHECK(trace.start_ns <= outer.start_ns && outer.start_ns <= inner.start_ns);
  CHECK(inner.start_ns <= trace.end_of(inner) && trace.end_of(inner) <= trace.end_of(outer));
  CHECK(trace.end_of(outer) <= trace.stop_ns);
}

void nothing_is_recorded_outside_a_session() {
  { OpScope op(kOuter); }
  CHECK(recorder().begin_scope("label").event == nullptr);
  start({});
  CHECK(stop().size() == 0);
}

void a_second_session_takes_over_and_the_first_ends_empty() {
  const uint64_t first = recorder().start({});
  { OpScope op(kOuter); }
  const uint64_t second = recorder().start({});
  { OpScope op(kInner); }
  const Trace of_second = recorder().stop(second), of_first = recorder().stop(first);
  CHECK(of_second.size() == 1 && named(of_second.threads[0][0], "aten::inner"));
  CHECK(of_first.size() == 0 && of_first.taken_over && !of_second.taken_over);
  CHECK(!recorder().recording());
}

void an_operator_open_at_the_stop_ends_with_the_session() {
  start({});
  Trace first, second;
  {
    OpScope outer(kOuter);
    first = stop();
    start({});
    { OpScope inner(kInner); }
  }
  second = stop();
  CHECK(first.size() == 1);
  CHECK(first.end_of(first.threads[0][0]) == first.stop_ns);
  CHECK(second.size() == 1);
  CHECK(named(second.threads[0][0], "aten::inner") && second.threads[0][0].parent == -1);
}

void annotations_may_end_in_any_order_and_on_any_thread() {
  start({});
  const OpenScope first = recorder().begin_scope("first");
  const OpenScope second = recorder().begin_scope("second");
  recorder().end_scope(first);
  { OpScope op(kOuter); }
  std::thread([&] { recorder().end_scope(second); }).join();
  { OpScope op(kInner); }
  const Trace trace = stop();
  const ThreadEvents& events = trace.threads[0];
  CHECK(events.count == 4);
  CHECK(named(events[1], "second") && events[1].parent == 0);
  CHECK(named(events[2], "aten::outer") && events[2].parent == 1);
  CHECK(named(events[3], "aten::inner") && events[3].parent == -1);
}

void arguments_are_kept_only_when_asked_for() {
  using Kind = mt::ObservedArgument::Kind;
  constexpr auto kOther = int64_t(Kind::other), kTensor = int64_t(Kind::tensor),
                 kTensors = int64_t(Kind::tensors), kInteger = int64_t(Kind::integer),
                 kBoolean = int64_t(Kind::boolean), kFloat = int64_t(mt::DType::float32);
  const Tensor tensor = on_device(0);
  const Tensor undefined;
  for (bool shapes : {false, true}) {
    start({.shapes = shapes});
    { OpScope op(kOuter, tensor, undefined, int64_t(7), mt::TensorList(&tensor, 1), true); }
    const Trace trace = stop();
    const int64_t* in = trace.threads[0][0].inputs;
    CHECK((in != nullptr) == shapes);
    if (!shapes) continue;
    const int64_t wanted[] = {23,       5, kTensor, kFloat, 2, 2, 3, 3, 1, kOther,   kInteger, 7,
                              kTensors, 1, kTensor, kFloat, 2, 2, 3, 3, 1, kBoolean, 1};
    CHECK(std::memcmp(in, wanted, sizeof(wanted)) == 0);
  }
}

void memory_is_read_where_the_operator_runs() {
  const Tensor tensor = new_on_device(1);
  Watched watched(1);
  start({.memory = true});
  Tensor made;
  {
    OpScope outer(kOuter);
    OpScope inner(kInner, tensor);
    made = new_on_device(1);
  }
  { OpScope elsewhere(kOuter); }
  const Trace trace = stop();
  const ThreadEvents& events = trace.threads[0];
  CHECK(events.count == 4);
  for (uint32_t i : {0u, 1u}) {
    CHECK(events[i].device.load() == place(1));
    CHECK(events[i].memory_after - events[i].memory_before == 512);
  }
  CHECK(events[2].kind == EventKind::memory && events[2].parent == 1 && events[2].bytes == 512);
  CHECK(events[3].device.load() == kHost && events[3].memory_before == 0 && events[3].memory_after == 0);
}

void an_operator_without_inputs_runs_where_it_allocates_and_not_where_it_frees() {
  Watched watched(0);
  start({.memory = true});
  Tensor made;
  {
    OpScope factory(kOuter);
    made = new_on_device(0);
  }
  {
    OpScope elsewhere(kInner);
    made = Tensor();
  }
  const Trace trace = stop();
  const ThreadEvents& events = trace.threads[0];
  CHECK(events[0].device.load() == place(0) && events[0].memory_after - events[0].memory_before == 512);
  CHECK(events[2].device.load() == kHost);
}

void host_memory_counts_from_the_start_of_the_session() {
  start({.memory = true});
  {
    OpScope op(kOuter);
    const Tensor made = mt::new_tensor(std::vector<int64_t>{16}, mt::DType::float32, {mt::DeviceType::cpu});
  }
  const Trace trace = stop();
  const ThreadEvents& events = trace.threads[0];
  CHECK(events.count == 3);
  CHECK(events[1].kind == EventKind::memory && events[1].device.load() == kHost && events[1].bytes == 64);
  CHECK(events[2].bytes == -64 && events[2].number == events[1].number);
  CHECK(events[0].memory_before == 0 && events[0].memory_after == 0);
}

void the_operators_around_a_new_node_know_its_number() {
  start({});
  {
    OpScope outer(kOuter);
    OpScope inner(kInner);
    recorder().node_made(12);
    recorder().node_made(14);
  }
  { OpScope without(kInner); }
  recorder().begin_visit("AddBackward0", 12);
  recorder().end();
  const Trace trace = stop();
  const ThreadEvents& events = trace.threads[0];
  CHECK(events[0].number == 12 && events[1].number == 12 && events[2].number == -1);
  CHECK(named(events[3], "autograd::engine::evaluate_function: AddBackward0") && events[3].number == 12);
}

// A device whose clock is an hour behind and which needs 3 µs for what it is given.
class ClockedDriver final : public mt::runtime::DeviceDriver {
 public:
  static constexpr int64_t kBehind = 3'600'000'000'000, kTaskNs = 3000;
  bool broken = false;

  void work(int64_t ns) { free_at_ = std::max(free_at_, now()) + ns; }

  const mt::runtime::DriverCalls& calls() const override { return mt::private_device::driver().calls(); }
  int initialize() override { return 1; }
  mt::StreamHandle open(int) override { return kWorking; }
  void activate(int) override {}
  void synchronize_device() override {}
  mt::MemoryInfo memory_info() override { return {}; }
  mt::StreamHandle create_stream(int) override { return kIdle; }
  void synchronize_stream(mt::StreamHandle) override {}
  bool stream_is_idle(mt::StreamHandle) override { return true; }
  mt::EventHandle create_event(mt::EventOptions) override { return ++last_event_; }
  void destroy_event(mt::EventHandle) override {}
  void record_event(mt::EventHandle event, mt::StreamHandle stream) override {
    MT_CHECK(!broken, "the device is gone");
    times_[event] = (stream == kIdle ? now() : std::max(free_at_, now())) - kBehind;
  }
  bool event_is_complete(mt::EventHandle) override { return true; }
  void synchronize_event(mt::EventHandle event) override {
    while (now() < times_[event] + kBehind) std::this_thread::yield();
  }
  void make_stream_wait(mt::StreamHandle, mt::EventHandle) override {}
  float elapsed_ms(mt::EventHandle begin, mt::EventHandle end) override {
    return float(double(times_[end] - times_[begin]) / 1e6);
  }
  int64_t event_time_us(mt::EventHandle event) override { return times_[event] / 1000; }
  mt::runtime::RawMemory allocate(size_t) override { return {}; }
  void free(mt::Address) override {}
  mt::runtime::RawMemory allocate_pinned(size_t) override { return {}; }
  void free_pinned(mt::Address) override {}
  void copy(mt::Address, mt::Address, size_t, mt::runtime::CopyKind) override {}
  void copy_async(mt::Address, mt::Address, size_t, mt::runtime::CopyKind, mt::StreamHandle) override {}
  bool can_access_peer(int, int) override { return false; }
  void enable_peer_access(int) override {}

 private:
  static constexpr mt::StreamHandle kWorking = 1, kIdle = 2;
  static int64_t now() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
  }
  uint64_t last_event_ = 0;
  int64_t free_at_ = 0;
  std::map<mt::EventHandle, int64_t> times_;
};

class ClockedDevice final : public mt::devices::StreamAccelerator {
 public:
  explicit ClockedDevice(mt::runtime::DeviceDriver& driver)
      : StreamAccelerator(mt::DeviceType::accelerator, driver) {}
  const char* title() const override { return "Clock"; }
  const char* conf_variable() const override { return ""; }
  const char* malloc_name() const override { return ""; }
  mt::DeviceProperties properties(int) override { return {}; }
  void copy_on_device(const Tensor&, const Tensor&) override {}
};

ClockedDriver& clocked() {
  static auto* driver = [] {
    auto* made = new ClockedDriver;
    mt::register_accelerator(mt::DeviceType::accelerator, "clock", *new ClockedDevice(*made));
    return made;
  }();
  return *driver;
}

void launch(ClockedDriver& device, int64_t ns) {
  const mt::Device where{mt::DeviceType::accelerator, 0};
  mt::TaskScope task({mt::TaskKind::kernel, "launch", "add", where, mt::current_stream(where)});
  device.work(ns);
}

void device_times_are_the_devices_on_the_hosts_clock() {
  ClockedDriver& device = clocked();
  start({.tasks = true});
  constexpr int kTasks = 600;  // more than are left unread
  {
    OpScope op(kOuter);
    for (int i = 0; i < kTasks; ++i) launch(device, ClockedDriver::kTaskNs);
  }
  const Trace trace = stop();
  CHECK(trace.tasks.size() == kTasks && trace.size() == 1 + kTasks);
  int64_t last_end = 0, last_correlation = 0;
  for (const Task& task : trace.tasks) {
    CHECK(task.start_ns >= task.launch_ns && task.start_ns >= last_end && task.launch_ns >= trace.start_ns);
    CHECK(task.correlation > last_correlation && task.op == 0);
    last_end = task.end_ns;
    last_correlation = task.correlation;
  }
  // The device was never idle for long, so most tasks took what they take; single ones may have begun late.
  const int64_t all = trace.tasks.back().end_ns - trace.tasks.front().start_ns;
  CHECK(all >= (kTasks - 2) * ClockedDriver::kTaskNs);
}

void tasks_of_a_failing_device_have_no_times() {
  ClockedDriver& device = clocked();
  start({.tasks = true});
  launch(device, 1000);
  device.broken = true;
  launch(device, 1000);
  const Trace trace = stop();
  CHECK(trace.tasks.size() == 2);
  CHECK(trace.tasks[0].end_ns > trace.tasks[0].start_ns && trace.tasks[1].start_ns == 0);
}

void every_event_of_many_threads_arrives() {
  constexpr int kThreads = 4, kOps = 5000;  // several chunks each
  start({.shapes = true});
  std::vector<std::thread> threads;
  const Tensor tensor = on_device(0);
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int op = 0; op < kOps; ++op) {
        const OpenScope scope = recorder().begin_scope("label");
        { OpScope outer(kOuter, tensor); }
        recorder().end_scope(scope);
      }
    });
  for (std::thread& thread : threads) thread.join();
  const Trace trace = stop();
  CHECK(trace.threads.size() == kThreads);
  for (const ThreadEvents& events : trace.threads) {
    CHECK(events.count == 2 * kOps);
    for (uint32_t i = 0; i < events.count; i += 2) {
      CHECK(named(events[i], "label") && named(events[i + 1], "aten::outer"));
      CHECK(events[i + 1].parent == int32_t(i));
      CHECK(trace.end_of(events[i + 1]) <= trace.end_of(events[i]));
    }
  }
}

// Sessions start and stop while other threads run operators; each trace must be consistent in itself.
void sessions_may_start_and_stop_while_operators_run() {
  std::atomic<bool> done{false};
  std::atomic<int> running{0};
  std::vector<std::thread> threads;
  const Tensor tensor = on_device(0);
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      ++running;
      while (!done.load()) {
        OpScope outer(kOuter);
        OpScope inner(kInner, tensor);
      }
    });
  while (running.load() < 3) std::this_thread::yield();
  uint64_t seen = 0;
  for (int session = 0; session < 200 || seen == 0; ++session) {
    start({.shapes = true, .memory = true});
    std::this_thread::yield();
    const Trace trace = stop();
    for (const ThreadEvents& events : trace.threads)
      for (uint32_t i = 0; i < events.count; ++i, ++seen) {
        CHECK(events[i].parent < int32_t(i));
        CHECK(named(events[i], "aten::outer") || named(events[i], "aten::inner"));
        CHECK(events[i].start_ns <= trace.end_of(events[i]));
        CHECK(events[i].inputs[1] == (named(events[i], "aten::inner") ? 1 : 0));
      }
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main() {
  mt::private_device::register_private_device();
  python_calls_are_around_what_they_do();
  what_is_left_out_is_not_recorded();
  inner_operators_have_the_outer_one_as_parent();
  nothing_is_recorded_outside_a_session();
  a_second_session_takes_over_and_the_first_ends_empty();
  an_operator_open_at_the_stop_ends_with_the_session();
  annotations_may_end_in_any_order_and_on_any_thread();
  arguments_are_kept_only_when_asked_for();
  memory_is_read_where_the_operator_runs();
  an_operator_without_inputs_runs_where_it_allocates_and_not_where_it_frees();
  host_memory_counts_from_the_start_of_the_session();
  the_operators_around_a_new_node_know_its_number();
  device_times_are_the_devices_on_the_hosts_clock();
  tasks_of_a_failing_device_have_no_times();
  every_event_of_many_threads_arrives();
  sessions_may_start_and_stop_while_operators_run();
  std::printf("14 tests passed\n");
}
