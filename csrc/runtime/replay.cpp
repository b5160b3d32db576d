#include "runtime/replay.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace mt::runtime {

// Note [Replay]. Without a record it is the simulated device as it is.
class RecordedDevice final : public SimulatedDevice {
 public:
  using SimulatedDevice::SimulatedDevice;

  void set_record(std::vector<RecordedGrant> grants, std::vector<RecordedReturn> returns) {
    grants_.assign(grants.begin(), grants.end());
    for (const RecordedReturn& returned : returns) returns_[returned.step] += returned.bytes;
    repeats_ = true;
  }

  void begin(int64_t step, bool grants_nothing) {
    step_ = step;
    returned_ = 0;
    refused_ = collected_ = false;
    grants_nothing_ = grants_nothing && repeats_;
    const auto found = returns_.find(step);
    expected_ = found == returns_.end() ? 0 : found->second;
    while (!grants_.empty() && grants_.front().step < step) grants_.pop_front();
  }

  RawMemory allocate(size_t bytes) override {
    if (!may_grant()) return {0, 0, refuse()};
    if (repeats_ && !grants_.empty() && grants_.front().step == step_ && grants_.front().bytes == bytes) {
      std::lock_guard<std::mutex> guard(mutex_);
      ++calls.allocate;
      const RecordedGrant grant = grants_.front();
      grants_.pop_front();
      return hold(grant.address, grant.bytes);
    }
    RawMemory made = SimulatedDevice::allocate(bytes);
    if (!made.address) refuse();
    return made;
  }
  void free(Address address) override {
    const size_t before = used();
    SimulatedDevice::free(address);
    went_back(before - used());
  }
  Address reserve(size_t bytes) override {
    // The first memory of a range is put at its beginning.
    const bool known = repeats_ && !grants_.empty() && grants_.front().step == step_;
    return known ? reserve_at(grants_.front().address, bytes) : SimulatedDevice::reserve(bytes);
  }
  Mapping map(Address at, size_t bytes) override {
    if (!may_grant()) return {0, refuse()};
    Mapping made = SimulatedDevice::map(at, bytes);
    if (!made.handle) refuse();
    return made;
  }
  void unmap(Address at, MappingHandle handle) override {
    const size_t before = used();
    SimulatedDevice::unmap(at, handle);
    went_back(before - used());
  }

  bool refused() const { return refused_; }
  bool collected() const { return collected_; }
  int64_t refusals = 0;

 private:
  bool may_grant() const { return !grants_nothing_ && returned_ >= expected_; }
  std::string refuse() {
    refused_ = true;
    ++refusals;
    return "the device has no memory left";
  }
  void went_back(size_t bytes) {
    returned_ += bytes;
    if (!refused_) collected_ = true;
  }

  std::deque<RecordedGrant> grants_;
  std::unordered_map<int64_t, size_t> returns_;
  bool repeats_ = false, grants_nothing_ = false, refused_ = false, collected_ = false;
  int64_t step_ = 0;
  size_t returned_ = 0, expected_ = 0;
};

Replay::Replay(const AllocatorSettings& settings, size_t capacity, std::vector<ReplayStep> steps)
    : device_(std::make_shared<RecordedDevice>(capacity)),
      allocator_(std::make_unique<CachingAllocator>(
          device_, AllocatorIdentity{"The device", 0, "PYTORCH_ALLOC_CONF", "devicemalloc"}, settings)),
      steps_(std::move(steps)) {
  reserved_.reserve(steps_.size());
  allocated_.reserve(steps_.size());
}

Replay::~Replay() = default;

void Replay::repeat_device(std::vector<RecordedGrant> grants, std::vector<RecordedReturn> returns) {
  device_->set_record(std::move(grants), std::move(returns));
}

bool Replay::run(int64_t last) {
  const int64_t end = std::min(last, int64_t(steps_.size()));
  while (next_ < end) {
    const ReplayStep& step = steps_[size_t(next_)];
    if (next_ == record_from_) allocator_->record_history(std::numeric_limits<size_t>::max(), false);
    device_->begin(next_, step.kind == StepKind::fail);
    const bool goes_on = take(step);
    if (device_->collected() && step.kind == StepKind::allocate) ++counts_.collections;
    note();
    ++next_;
    if (!goes_on) return false;
  }
  return true;
}

Block* Replay::allocate(const ReplayStep& step) {
  if (step.pool == 0) return allocator_->allocate(size_t(step.size), StreamHandle(step.stream));
  if (pools_.insert(step.pool).second) allocator_->retain_pool(step.pool, {});
  allocator_->begin_pool(step.pool, {});
  struct End {
    CachingAllocator& allocator;
    int64_t pool;
    ~End() { allocator.end_pool(pool); }
  } end{*allocator_, step.pool};
  return allocator_->allocate(size_t(step.size), StreamHandle(step.stream));
}

bool Replay::take(const ReplayStep& step) {
  const auto out = [&](const char* what) {
    const auto found = blocks_.find(step.key);
    MT_CHECK_AS(value, found != blocks_.end(), "step ", next_, " ", what, " block ", step.key,
                ", which is not allocated");
    return found;
  };
  switch (step.kind) {
    case StepKind::allocate:
    case StepKind::fail: {
      const bool failed_then = step.kind == StepKind::fail;
      try {
        Block* block = allocate(step);
        if (failed_then) {  // what the program would have done with it is not known
          ++counts_.reached;
          allocator_->free(block);
        } else {
          MT_CHECK_AS(value, blocks_.emplace(step.key, block).second, "step ", next_, " allocates block ",
                      step.key, " twice");
        }
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::out_of_memory) throw;
        if (failed_then) return true;
        counts_.failed_step = next_;
        counts_.failure = error.what();
        return false;
      }
      return true;
    }
    case StepKind::free:
    case StepKind::free_in_use: {
      const auto found = out("frees");
      if (step.kind == StepKind::free_in_use)
        allocator_->record_stream(found->second, StreamHandle(step.other));
      allocator_->free(found->second);
      blocks_.erase(found);
      return true;
    }
    case StepKind::use_ended: device_->finish(StreamHandle(step.other)); return true;
    case StepKind::empty_cache: allocator_->empty_cache(); return true;
    case StepKind::empty_pool:
      if (pools_.erase(step.pool)) allocator_->release_pool(step.pool);
      allocator_->empty_pool(step.pool);
      return true;
    case StepKind::adopt: {
      if (step.pool && pools_.insert(step.pool).second) allocator_->retain_pool(step.pool, {});
      if (step.pool) allocator_->begin_pool(step.pool, {});
      device_->adopt(Address(step.key), size_t(step.size));
      allocator_->adopt(Address(step.key), size_t(step.size), StreamHandle(step.stream), step.other != 0);
      if (step.pool) allocator_->end_pool(step.pool);
      return true;
    }
    case StepKind::keep: out("keeps")->second->requested = size_t(step.size); return true;
  }
  fail(ErrorKind::value, "step ", next_, " is of kind ", int64_t(step.kind), ", which there is not");
}

void Replay::note() {
  const AllocatorStats now = allocator_->stats();
  const int64_t reserved = now.reserved_bytes.all.current;
  reserved_.push_back(reserved);
  allocated_.push_back(now.allocated_bytes.all.current);
  if (reserved > counts_.reserved_at_peak) {
    counts_.reserved_at_peak = reserved;
    counts_.peak_reserved_step = next_;
    counts_.allocated_at_peak_reserved = now.allocated_bytes.all.current;
    counts_.active_at_peak_reserved = now.active_bytes.all.current;
  }
  counts_.peak_segments = now.segment.all.peak;
  counts_.device_allocations = now.num_device_alloc;
  counts_.device_frees = now.num_device_free;
  counts_.synchronizations = now.num_sync_all_streams;
  counts_.refusals = device_->refusals;
}

}  // namespace mt::runtime
