// A graph: what streams were given once, recorded, to be given to the device again with one call.
//
// Note [What a graph holds]
// Its operators work at the addresses of the capture, so it holds the memory behind them: a private pool
// (Note [Memory of graphs] in runtime/caching_allocator.h) and the pinned memory of its copies. Pageable memory cannot be
// held and is refused. Random numbers would be those of the capture in every replay; therefore captured operators read the
// seed, and an offset to add to their own, from the device, and each replay writes there how far the generator has got and
// moves it on by all that the graph draws. With the same seed a replay draws what the operators themselves would.
#pragma once

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "devices/counter_generator.h"
#include "devices/stream_accelerator.h"

namespace mt::devices {

using runtime::CaptureMode;

class DeviceGraph {
 public:
  explicit DeviceGraph(StreamAccelerator& accelerator) : accelerator_(accelerator) {}
  static bool any_is_captured();  // of any device, by any thread
  ~DeviceGraph();
  DeviceGraph(const DeviceGraph&) = delete;

  // Before the capture. The device's default generator is there without being added.
  void add_generator(GeneratorRef generator);
  // On this thread's current device and stream, into the private pool `pool`.
  void begin(int64_t pool, CaptureMode mode);
  // Throws, and leaves no graph, when something was done that cannot be captured.
  void end();
  void replay();  // on the current stream of the graph's device
  void reset();   // as before begin()
  void describe(const std::string& path);
  bool is_complete() const { return graph_ != 0; }
  bool is_capturing() const { return capturing_; }

  // ---- For what happens during the capture ----
  int device() const { return device_.index; }
  uintptr_t capture_id() const { return id_; }
  // Whether a thread that waits for the whole device is refused because of this capture, and ends it.
  bool concerns(std::thread::id thread) const { return mode_ == CaptureMode::global || thread == thread_; }
  void invalidate(const std::string& reason) {
    if (failure_.empty()) failure_ = reason;
  }
  void keep_pinned(Address address);
  Numbers take(CounterGenerator& generator, uint64_t count);

 private:
  struct Drawn {
    Ref<CounterGenerator> generator;
    Tensor seed, offset;  // on the device; undefined while nothing was drawn
    uint64_t count = 0;   // how far a replay moves the generator
    std::optional<uint64_t> written_seed = {};
  };

  void leave();
  void forget();
  void write_numbers();

  StreamAccelerator& accelerator_;
  Device device_{};
  void* stream_ = nullptr;
  std::thread::id thread_;
  CaptureMode mode_ = CaptureMode::global;
  bool capturing_ = false;
  uintptr_t id_ = 0;
  std::string failure_;  // the first
  runtime::GraphHandle graph_ = 0;

  CachingAllocator* allocator_ = nullptr;
  PinnedPool* pinned_pool_ = nullptr;
  int64_t pool_ = 0;  // 0: none is held
  std::vector<Address> pinned_;
  void* replayed_on_ = nullptr;  // the last stream
  std::vector<Ref<CounterGenerator>> generators_;
  std::vector<Drawn> drawn_;
};

}  // namespace mt::devices
