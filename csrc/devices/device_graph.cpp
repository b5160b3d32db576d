#include "devices/device_graph.h"

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "core/observe_task.h"
#include "devices/launch_log.h"

namespace mt::devices {
namespace {

std::atomic<int> g_captures{0};

StreamHandle handle(void* stream) { return StreamHandle(stream); }

}  // namespace

bool DeviceGraph::any_is_captured() { return g_captures.load(std::memory_order_acquire) != 0; }

DeviceGraph::~DeviceGraph() {
  // Nothing can be thrown from here: a device that refuses has failed, and says so to whoever uses it next.
  if (capturing_) {
    try {
      accelerator_.activate(device_.index);
      graph_ = accelerator_.driver().end_capture(handle(stream_));
    } catch (const Error&) { graph_ = 0; }
    leave();
  }
  try {
    forget();
  } catch (const Error&) { graph_ = 0; }
}

void DeviceGraph::add_generator(GeneratorRef generator) {
  MT_CHECK(!capturing_ && !graph_, "register_generator_state: the graph has been captured already");
  auto* own = dynamic_cast<CounterGenerator*>(generator.get());
  MT_CHECK(own && own->device().type == accelerator_.slot(), "Expected a '", name_of(accelerator_.slot()),
           "' device type for generator but found '", name_of(generator->device().type), "'");
  generators_.push_back(Ref<CounterGenerator>::share(own));
}

void DeviceGraph::begin(int64_t pool, CaptureMode mode) {
  const char* title = accelerator_.title();
  MT_CHECK(!capturing_, "capture_begin: this graph is being captured already");
  MT_CHECK(!graph_, "This ", title,
           "Graph instance already owns a captured graph. To capture a new graph, create a new ",
           "instance or call reset() first.");
  device_ = accelerator_.resolve({accelerator_.slot(), -1});
  MT_CHECK_AS(not_implemented, accelerator_.driver().has_graphs(), "the driver of ", to_string(device_),
              " cannot capture graphs; run the operators themselves");
  stream_ = current_stream(device_);
  MT_CHECK(stream_ != opened_default_stream(device_), title,
           " graphs must be captured on a non-default stream. (However, after capture, it's ok to replay "
           "them on the "
           "default stream.)");
  accelerator_.activate(device_.index);
  allocator_ = &accelerator_.allocator(device_.index);
  pinned_pool_ = &accelerator_.pinned_pool();
  generators_.push_back(Ref<CounterGenerator>::share(
      static_cast<CounterGenerator*>(accelerator_.default_generator(device_.index))));
  thread_ = std::this_thread::get_id();
  mode_ = mode;
  failure_.clear();
  accelerator_.driver().begin_capture(handle(stream_), mode);
  id_ = accelerator_.driver().capture_state(handle(stream_)).id;
  pool_ = pool;
  allocator_->retain_pool(pool_, {});
  allocator_->begin_pool(pool_, {});
  allocator_->capture_began();
  pinned_pool_->capture_began();
  accelerator_.add_capture(*this);
  g_captures.fetch_add(1);
  capturing_ = true;
}

// The streams run again, and this thread allocates where it did before.
void DeviceGraph::leave() {
  capturing_ = false;
  g_captures.fetch_sub(1);
  accelerator_.remove_capture(*this);
  allocator_->end_pool(pool_, thread_);
  allocator_->capture_ended();
  pinned_pool_->capture_ended();
}

void DeviceGraph::end() {
  MT_CHECK(capturing_, "capture_end: this graph is not being captured; call capture_begin() first");
  MT_CHECK(current_stream(device_) == stream_, "Capture must end on the same stream it began on.");
  accelerator_.activate(device_.index);
  try {
    graph_ = accelerator_.driver().end_capture(handle(stream_));
  } catch (const Error& error) {
    // A capture that another thread may not end goes on.
    if (accelerator_.driver().capture_state(handle(stream_)).id == id_) throw;
    leave();
    forget();
    if (failure_.empty()) throw;
  }
  if (capturing_) leave();
  if (failure_.empty()) return;
  forget();
  fail(ErrorKind::runtime, accelerator_.title(),
       " error: operation failed due to a previous error during capture: ", failure_);
}

void DeviceGraph::keep_pinned(Address address) {
  pinned_pool_->keep(address);
  pinned_.push_back(address);
}

Numbers DeviceGraph::take(CounterGenerator& generator, uint64_t count) {
  const auto is_it = [&](const auto& registered) { return registered.get() == &generator; };
  MT_CHECK(
      std::any_of(generators_.begin(), generators_.end(), is_it), "Attempt to increase offset for a ",
      accelerator_.title(),
      " generator not in capture mode: call graph.register_generator_state(generator) before the capture.");
  auto found = std::find_if(drawn_.begin(), drawn_.end(),
                            [&](const Drawn& drawn) { return drawn.generator.get() == &generator; });
  if (found == drawn_.end()) {
    const auto number = [&] { return new_tensor(Dims{1}, DType::int64, device_); };
    drawn_.push_back({Ref<CounterGenerator>::share(&generator), number(), number()});
    found = std::prev(drawn_.end());
  }
  const Numbers taken{0, found->count, found->seed, found->offset};
  found->count += count;
  return taken;
}

void DeviceGraph::write_numbers() {
  const auto write = [this](const Tensor& to, uint64_t number) {
    const Tensor value = new_tensor(to.sizes(), DType::int64, {DeviceType::cpu});
    *static_cast<int64_t*>(value.data()) = int64_t(number);
    accelerator_.copy(value, to, true);
  };
  for (Drawn& drawn : drawn_) {
    const Numbers now = drawn.generator->advance(drawn.count);
    if (drawn.written_seed != now.seed) write(drawn.seed, now.seed);
    drawn.written_seed = now.seed;
    write(drawn.offset, now.offset);
  }
}

void DeviceGraph::replay() {
  MT_CHECK(graph_, "Called ", accelerator_.title(), "Graph::replay without a preceding successful capture.");
  accelerator_.activate(device_.index);
  void* stream = current_stream(device_);
  write_numbers();
  const char* call = accelerator_.driver().calls().replay_graph;
  TaskScope scope({TaskKind::kernel, call, "Graph", device_, stream});
  accelerator_.driver().replay_graph(graph_, handle(stream));
  note_launch(call, stream);
  replayed_on_ = stream;
}

void DeviceGraph::reset() {
  MT_CHECK(!capturing_, "reset: the graph is being captured; call capture_end() first");
  forget();
  generators_.clear();
}

void DeviceGraph::describe(const std::string& path) {
  MT_CHECK(graph_, "debug_dump: there is no graph; capture one first");
  accelerator_.activate(device_.index);
  accelerator_.driver().describe_graph(graph_, path);
}

// Gives back what the graph holds. Replays that are enqueued still run, and what they use is not reused before.
void DeviceGraph::forget() {
  drawn_.clear();
  if (pool_) allocator_->release_pool(std::exchange(pool_, 0));
  const StreamHandle last = handle(std::exchange(replayed_on_, nullptr));
  for (const Address address : std::exchange(pinned_, {})) pinned_pool_->let_go(address, last);
  if (!graph_) return;
  accelerator_.activate(device_.index);
  accelerator_.driver().destroy_graph(std::exchange(graph_, 0));
}

}  // namespace mt::devices
