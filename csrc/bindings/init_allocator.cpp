// _C._allocator: the memory pools as Python sees them, by address instead of by Block.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "bindings/python_lock.h"
#include "bindings/python_upstream.h"
#include "devices/stream_accelerator.h"
#include "runtime/caching_allocator.h"
#include "runtime/pinned_pool.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace mt::bindings {
namespace {

using namespace mt::runtime;
using devices::stream_accelerator;
using devices::StreamAccelerator;

StreamHandle stream_of(const nb::object& stream) {
  return stream.is_none() ? 0 : nb::cast<StreamHandle>(stream);
}

bool is_small_pool(const std::string& pool) {
  MT_CHECK_AS(value, pool == "small_pool" || pool == "large_pool",
              "Pools are 'small_pool' and 'large_pool'; got '", pool, "'.");
  return pool == "small_pool";
}

// The accelerator that a name of torch.device stands for.
StreamAccelerator& accelerator_named(const std::string& name) {
  StreamAccelerator* found = stream_accelerator(parse_device(name).type);
  MT_CHECK_AS(value, found, "memory pools are of accelerators; '", name, "' is none that this build drives");
  return *found;
}

// Native code holds Blocks; Python holds addresses, so this class keeps the way back for what Python
// allocated.
class PythonAllocator {
 public:
  PythonAllocator(nb::object owner, const std::string& device_type, int device_index, const AllocConf& conf)
      : accelerator_(accelerator_named(device_type)),
        upstream_(std::make_shared<PythonUpstream>(owner.ptr(), accelerator_.new_upstream(device_index))),
        native_(std::make_shared<CachingAllocator>(upstream_, accelerator_.identity(device_index),
                                                   conf.allocator)),
        device_(device_index) {
    if (const MemoryMarks marks = accelerator_.driver().memory_marks(); marks.used)
      native_->set_memory_marks(marks);
  }

  CachingAllocator& native() { return *native_; }
  PythonUpstream& upstream() { return *upstream_; }
  const char* malloc_name() const { return accelerator_.malloc_name(); }
  int device() const { return device_; }
  // From now on it is the device's.
  void serve() { accelerator_.set_allocator(device_, native_); }

  Address malloc(size_t bytes, const nb::object& stream) {
    Block* block = native_->allocate(bytes, stream_of(stream));
    if (!block) return 0;
    std::lock_guard<SpinLock> guard(lock_);
    blocks_[block->ptr] = block;
    return block->ptr;
  }
  void free(Address address, const nb::object& stream) {
    if (address == 0) return;
    Block* block;
    {
      std::lock_guard<SpinLock> guard(lock_);
      block = find(address, "free");
      blocks_.erase(address);
    }
    if (!stream.is_none()) native_->record_stream(block, stream_of(stream));
    native_->free(block);
  }
  void record_stream(Address address, const nb::object& stream) {
    if (address == 0) return;
    std::lock_guard<SpinLock> guard(lock_);
    native_->record_stream(find(address, "record_stream"), stream_of(stream));
  }

 private:
  Block* find(Address address, const char* function) {
    const auto found = blocks_.find(address);
    MT_CHECK(found != blocks_.end(), function, ": address ", address,
             " was not allocated here by malloc(), or has been freed already.");
    return found->second;
  }

  StreamAccelerator& accelerator_;
  std::shared_ptr<PythonUpstream> upstream_;
  std::shared_ptr<CachingAllocator> native_;
  const int device_;
  SpinLock lock_;
  std::unordered_map<Address, Block*> blocks_;
};

// The native pool is shared with native code, which may keep it longer than Python does.
struct PythonPinnedPool {
  PythonPinnedPool(nb::object owner, const std::string& device_type, const AllocConf& conf)
      : accelerator(accelerator_named(device_type)),
        upstream(std::make_shared<PythonUpstream>(owner.ptr(), accelerator.new_pinned_upstream())),
        native(std::make_shared<PinnedPool>(upstream, conf.pinned)) {}

  StreamAccelerator& accelerator;
  std::shared_ptr<PythonUpstream> upstream;
  std::shared_ptr<PinnedPool> native;
};

nb::dict stats_dict(const AllocatorStats& stats) {
  nb::dict result;
  const auto& names = allocator_stat_names();
  for (size_t i = 0; i < names.size(); ++i) result[names[i].c_str()] = stats.values()[i];
  return result;
}

nb::dict block_dict(const BlockState& block) {
  nb::dict result;
  result["address"] = block.address;
  result["size"] = block.size;
  result["requested_size"] = block.requested;
  result["state"] = block.state;
  result["stack"] = block.stack;
  return result;
}

nb::dict trace_dict(const TraceEntry& entry) {
  nb::dict result;
  result["action"] = trace_action_name(entry.action);
  result[entry.action == TraceAction::oom ? "device_free" : "addr"] = entry.address;
  result["size"] = entry.size;
  result["stream"] = entry.stream;
  result["time_us"] = entry.time_us;
  result["pool_id"] = nb::make_tuple(0, entry.pool);
  result["stack"] = entry.stack;
  return result;
}

nb::dict settings_dict(const AllocatorSettings& settings, const char* malloc_name) {
  nb::dict divisions;
  for (size_t i = 0; i < kRoundupIntervals; ++i)
    divisions[std::to_string(size_t(1) << i).c_str()] = settings.roundup_divisions[i];
  const auto or_unlimited = [](size_t bytes) { return bytes == kUnlimited ? int64_t(-1) : int64_t(bytes); };
  nb::dict result;
  result["max_split_size"] = or_unlimited(settings.max_split_size);
  result["max_non_split_rounding"] = or_unlimited(settings.max_non_split_rounding);
  result["large_segment_size"] = settings.large_segment_size;
  result["garbage_collection_threshold"] = settings.garbage_collection_threshold;
  result["per_process_memory_fraction"] = settings.memory_fraction;
  result["expandable_segments"] = settings.expandable_segments;
  result["multi_stream_lazy_reclaim"] = settings.lazy_reclaim;
  result[join_text("throw_on_", malloc_name, "_oom").c_str()] = settings.reject_above_limit;
  result["roundup_power2_divisions"] = divisions;
  return result;
}

// PyTorch's fields, with stack ids where frames belong; Python puts the frames in.
nb::dict snapshot_dict(PythonAllocator& allocator, bool include_traces) {
  const Snapshot snapshot = allocator.native().snapshot(include_traces);
  nb::list segments, trace;
  for (const SegmentState& state : snapshot.segments) {
    nb::list blocks;
    for (const BlockState& block : state.blocks) blocks.append(block_dict(block));
    nb::dict segment;
    segment["address"] = state.address;
    segment["total_size"] = state.size;
    segment["allocated_size"] = state.allocated;
    segment["active_size"] = state.active;
    segment["requested_size"] = state.requested;
    segment["stream"] = state.stream;
    segment["segment_type"] = state.small ? "small" : "large";
    segment["segment_pool_id"] = nb::make_tuple(0, state.pool);
    segment["is_expandable"] = state.expandable;
    segment["blocks"] = blocks;
    segments.append(segment);
  }
  for (const TraceEntry& entry : snapshot.trace) trace.append(trace_dict(entry));
  nb::dict settings = settings_dict(snapshot.settings, allocator.malloc_name());
  settings["trace_alloc_overflowed"] = snapshot.trace_overflowed;
  settings["trace_alloc_max_entries"] = snapshot.trace_max_entries;
  nb::dict result;
  result["segments"] = segments;
  result["trace"] = trace;
  result["settings"] = settings;
  return result;
}

nb::dict stat_dict(const Stat& stat) {
  nb::dict result;
  result["current"] = stat.current, result["peak"] = stat.peak;
  result["allocated"] = stat.allocated, result["freed"] = stat.freed;
  return result;
}

nb::dict call_time_dict(const CallTime& time) {
  nb::dict result;
  result["total"] = time.total, result["max"] = time.max, result["min"] = time.min;
  result["count"] = time.count, result["avg"] = time.average();
  return result;
}

nb::dict pinned_stats_dict(const PinnedStats& stats) {
  nb::dict result;
  result["allocations"] = stat_dict(stats.allocations);
  result["allocated_bytes"] = stat_dict(stats.allocated_bytes);
  result["active_requests"] = stat_dict(stats.active_requests);
  result["active_bytes"] = stat_dict(stats.active_bytes);
  result["num_host_alloc"] = stats.num_host_alloc;
  result["num_host_free"] = stats.num_host_free;
  result["host_alloc_time"] = call_time_dict(stats.alloc_time);
  result["host_free_time"] = call_time_dict(stats.free_time);
  return result;
}

void set_stack_recorder(PythonAllocator& self, nb::object recorder, nb::object describe) {
  if (recorder.is_none()) return self.native().set_stack_recorder({});
  self.native().set_stack_recorder(
      [callable = share_callable(recorder)]() -> uint64_t {
        if (interpreter_is_exiting()) return 0;
        PythonLock gil;
        nb::error_scope pending;  // tensors die while an exception is on its way, too
        try {
          return nb::cast<uint64_t>(nb::handle(callable.get())());
        } catch (nb::python_error& error) {
          error.discard_as_unraisable("recording where memory is used");  // a destructor cannot throw
          return 0;
        }
      },
      [callable = share_callable(describe)](uint64_t stack) -> std::string {
        if (interpreter_is_exiting()) return {};
        PythonLock gil;
        return nb::cast<std::string>(nb::handle(callable.get())(stack));
      });
}

void record_history(PythonAllocator& self, size_t max_entries, bool clear,
                    const std::vector<std::string>& skip_actions) {
  uint32_t skipped = 0;
  for (const std::string& name : skip_actions) {
    int action = 0;
    while (action < kTraceActions && name != trace_action_name(TraceAction(action))) ++action;
    MT_CHECK_AS(value, action < kTraceActions, "skip_actions: there is no action '", name, "'.");
    skipped |= uint32_t(1) << action;
  }
  self.native().record_history(max_entries, clear, skipped);
}

void set_out_of_memory_observer(PythonAllocator& self, nb::object observer) {
  if (observer.is_none()) return self.native().set_out_of_memory_observer({});
  self.native().set_out_of_memory_observer(
      [callable = share_callable(observer)](size_t bytes, size_t total, size_t free) {
        if (interpreter_is_exiting()) return;
        PythonLock gil;
        nb::handle(callable.get())(bytes, total, free);
      });
}

// Functions of a shared library, by address:
// void* allocate(ssize_t size, int device, void* stream), void free(void*, ssize_t, int, void* stream).
class FunctionSource final : public RawSource {
 public:
  using Allocate = void*(ssize_t, int, void*);
  using Free = void(void*, ssize_t, int, void*);
  FunctionSource(Address allocate, Address free, int device)
      : allocate_(reinterpret_cast<Allocate*>(allocate)),
        free_(reinterpret_cast<Free*>(free)),
        device_(device) {}

  RawMemory allocate(size_t bytes, StreamHandle stream) override {
    void* made = allocate_(ssize_t(bytes), device_, reinterpret_cast<void*>(stream));
    if (!made) return {0, 0, "the pluggable allocator returned no memory"};
    return {Address(made), bytes, {}};
  }
  void free(Address address, size_t bytes, StreamHandle stream) override {
    free_(reinterpret_cast<void*>(address), ssize_t(bytes), device_, reinterpret_cast<void*>(stream));
  }

 private:
  Allocate* allocate_;
  Free* free_;
  int device_;
};

using Functions = std::optional<std::pair<Address, Address>>;

std::shared_ptr<RawSource> source_of(const Functions& functions, int device) {
  if (!functions) return {};
  return std::make_shared<FunctionSource>(functions->first, functions->second, device);
}

nb::dict reserved_by_pools(PythonAllocator& self) {
  nb::dict result;
  for (const auto& [id, stat] : self.native().reserved_by_pools()) {
    nb::dict pool;
    pool["all"] = stat_dict(stat.all);
    pool["large_pool"] = stat_dict(stat.large);
    pool["small_pool"] = stat_dict(stat.small);
    result[join_text("0_", id).c_str()] = pool;
  }
  return result;
}

void add_pools(nb::class_<PythonAllocator>& type) {
  using A = PythonAllocator;
  const auto options = [](A& self, bool use_on_oom, bool no_split, const Functions& functions) {
    return PoolOptions{use_on_oom, no_split, false, source_of(functions, self.device())};
  };
  type.def(
          "begin_pool",
          [options](A& self, int64_t id, bool use_on_oom, bool no_split, const Functions& functions) {
            self.native().begin_pool(id, options(self, use_on_oom, no_split, functions));
          },
          "id"_a, "use_on_oom"_a, "no_split"_a, "functions"_a.none())
      .def(
          "retain_pool",
          [options](A& self, int64_t id, bool use_on_oom, bool no_split, const Functions& functions) {
            self.native().retain_pool(id, options(self, use_on_oom, no_split, functions));
          },
          "id"_a, "use_on_oom"_a, "no_split"_a, "functions"_a.none())
      .def("end_pool", [](A& self, int64_t id) { self.native().end_pool(id); })
      .def("release_pool", [](A& self, int64_t id) { self.native().release_pool(id); })
      .def("empty_pool", [](A& self, int64_t id) { self.native().empty_pool(id); })
      .def("pool_users", [](A& self, int64_t id) { return self.native().pool_users(id); })
      .def("reserved_by_pools", &reserved_by_pools)
      .def(
          "set_caching",
          [](A& self, bool on, const Functions& functions) {
            self.native().set_caching(on, source_of(functions, self.device()));
          },
          "on"_a, "functions"_a.none() = nb::none())
      .def("caching", [](A& self) { return self.native().caching(); });
}

// What a pool's replaceable functions do when they are not replaced, for those who call them.
template <class Class>
void add_upstream(nb::class_<Class>& type, PythonUpstream& (*upstream)(Class&)) {
  type.def("set_replaced", [upstream](Class& self, const std::string& name,
                                      bool replaced) { upstream(self).set_replaced(name, replaced); })
      .def("raw_malloc",
           [upstream](Class& self, size_t bytes) {
             const RawMemory made = upstream(self).native().allocate(bytes);
             MT_CHECK(made.address, made.error);
             return std::make_pair(made.address, made.size);
           })
      .def("raw_free", [upstream](Class& self, Address address) { upstream(self).native().free(address); })
      .def("mem_get_info",
           [upstream](Class& self) {
             const MemoryInfo info = upstream(self).native().memory_info();
             return std::make_pair(info.free, info.total);
           })
      .def("sync_device", [upstream](Class& self) { upstream(self).native().synchronize(); })
      .def("record_event",
           [upstream](Class& self, StreamHandle stream) {
             return upstream(self).native().record_event(stream);
           })
      .def("event_complete",
           [upstream](Class& self, EventHandle event) {
             return upstream(self).native().event_is_complete(event);
           })
      .def("release_event",
           [upstream](Class& self, EventHandle event) { upstream(self).native().release_event(event); })
      .def("has_virtual_memory",
           [upstream](Class& self) { return upstream(self).native().has_virtual_memory(); })
      .def("reserve_addresses",
           [upstream](Class& self, size_t bytes) { return upstream(self).native().reserve(bytes); })
      .def("release_addresses",
           [upstream](Class& self, Address address) { upstream(self).native().unreserve(address); })
      .def("map_memory",
           [upstream](Class& self, Address address, size_t bytes) {
             const Mapping made = upstream(self).native().map(address, bytes);
             MT_CHECK(made.handle, made.error);
             return made.handle;
           })
      .def("unmap_memory", [upstream](Class& self, Address address, MappingHandle memory) {
        upstream(self).native().unmap(address, memory);
      });
}

}  // namespace

void init_allocator(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_allocator", "Caching memory pools over Python or native upstreams.");

  nb::class_<AllocConf>(m, "AllocConf")
      .def(nb::init<>())
      .def_ro("values", &AllocConf::values)
      .def_ro("unknown", &AllocConf::unknown)
      .def_prop_rw(
          "expandable_segments", [](const AllocConf& conf) { return conf.allocator.expandable_segments; },
          [](AllocConf& conf, bool on) { conf.allocator.expandable_segments = on; });
  m.def(
      "parse_alloc_conf",
      [](const std::string& text, const std::string& source) { return parse_alloc_conf(text, source); },
      "text"_a, "source"_a);
  m.def("alloc_conf_keys", &alloc_conf_keys);
  m.def("stat_names", &allocator_stat_names);
  m.def("hook_names", &PythonUpstream::hook_names, "Attributes of a pool that may be replaced.");

  using A = PythonAllocator;
  nb::class_<A> allocator(m, "CachingAllocator", nb::is_weak_referenceable());
  add_pools(allocator);
  add_upstream<A>(allocator, [](A& self) -> PythonUpstream& { return self.upstream(); });
  allocator
      .def(nb::init<nb::object, const std::string&, int, const AllocConf&>(), "owner"_a, "device_type"_a,
           "device_index"_a, "conf"_a)
      .def("malloc", &A::malloc, "size"_a, "stream"_a = nb::none())
      .def("free", &A::free, "address"_a, "stream"_a = nb::none())
      .def("record_stream", &A::record_stream, "address"_a, "stream"_a.none())
      .def("empty_cache", [](A& self) { self.native().empty_cache(); })
      .def("collect_garbage", [](A& self) { self.native().collect_garbage(); })
      .def("check_limit", [](A& self, size_t bytes) { self.native().check_limit(bytes); })
      .def("set_memory_fraction",
           [](A& self, double fraction) { self.native().set_memory_fraction(fraction); })
      .def(
          "set_memory_limit",
          [](A& self, std::optional<size_t> bytes) {
            self.native().set_memory_limit(bytes.value_or(kUnlimited));
          },
          "bytes"_a.none())
      .def("memory_limit",
           [](A& self) -> std::optional<size_t> {
             const size_t limit = self.native().memory_limit();
             return limit == kUnlimited ? std::nullopt : std::optional<size_t>(limit);
           })
      .def("configure", [](A& self, const AllocConf& conf) { self.native().set_settings(conf.allocator); })
      .def("settings", [](A& self) { return settings_dict(self.native().settings(), self.malloc_name()); })
      .def_prop_rw(
          "max_split_size", [](A& self) { return self.native().settings().max_split_size; },
          [](A& self, size_t bytes) {
            AllocatorSettings settings = self.native().settings();
            settings.max_split_size = bytes;
            self.native().set_settings(settings);
          })
      .def("stats", [](A& self) { return stats_dict(self.native().stats()); })
      .def("stat",
           [](A& self, const std::string& name) {
             return self.native().stats().values()[allocator_stat_index(name)];
           })
      .def("set_stat", [](A& self, const std::string& name,
                          int64_t value) { self.native().set_stat(allocator_stat_index(name), value); })
      .def("reset_peak_stats", [](A& self) { self.native().reset_peak_stats(); })
      .def("reset_accumulated_stats", [](A& self) { self.native().reset_accumulated_stats(); })
      .def(
          "snapshot", [](A& self, bool traces) { return snapshot_dict(self, traces); },
          "include_traces"_a = true)
      .def("cached_blocks",
           [](A& self, const std::string& pool) {
             nb::list result;
             for (const BlockState& block : self.native().cached_blocks(is_small_pool(pool)))
               result.append(nb::make_tuple(block.address, block.size, block.stream));
             return result;
           })
      .def(
          "adopt",
          [](A& self, Address address, size_t bytes, const nb::object& stream, const std::string& pool) {
            self.native().adopt(address, bytes, stream_of(stream), is_small_pool(pool));
          },
          "address"_a, "size"_a, "stream"_a.none(), "pool"_a)
      .def("record_history", &record_history, "max_entries"_a, "clear"_a = false,
           "skip_actions"_a = std::vector<std::string>{})
      .def("set_stack_recorder", &set_stack_recorder, "recorder"_a.none(), "describe"_a.none())
      .def("set_out_of_memory_observer", &set_out_of_memory_observer, "observer"_a.none())
      .def("serve", &A::serve, "From now on this is the allocator of its device.");

  using P = PythonPinnedPool;
  nb::class_<P> pinned(m, "PinnedPool", nb::is_weak_referenceable());
  add_upstream<P>(pinned, [](P& self) -> PythonUpstream& { return *self.upstream; });
  pinned
      .def(nb::init<nb::object, const std::string&, const AllocConf&>(), "owner"_a, "device_type"_a, "conf"_a)
      .def("serve", [](P& self) { self.accelerator.set_pinned_pool(self.native); })
      .def(
          "malloc", [](P& self, size_t bytes) { return self.native->allocate(bytes); }, "size"_a)
      .def(
          "free", [](P& self, Address address) { self.native->free(address); }, "address"_a)
      .def(
          "record_stream",
          [](P& self, Address address, StreamHandle stream) { self.native->record_stream(address, stream); },
          "address"_a, "stream"_a)
      .def(
          "is_pinned", [](P& self, Address address) { return self.native->is_pinned(address); }, "address"_a)
      .def("empty_cache", [](P& self) { self.native->empty_cache(); })
      .def("configure", [](P& self, const AllocConf& conf) { self.native->set_settings(conf.pinned); })
      .def("stats", [](P& self) { return pinned_stats_dict(self.native->stats()); })
      .def("reset_peak_stats", [](P& self) { self.native->reset_peak_stats(); })
      .def("reset_accumulated_stats", [](P& self) { self.native->reset_accumulated_stats(); });
}

}  // namespace mt::bindings
