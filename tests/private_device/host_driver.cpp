#include "host_driver.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <new>
#include <thread>

#include "base/error.h"

namespace mt::private_device {

using runtime::CopyKind;
using runtime::RawMemory;

namespace {

constexpr int kFailed = 1, kOutOfMemory = 2;  // the codes of this "vendor"

thread_local int t_active = 0;

int64_t now_ns() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

class HostStream {
 public:
  HostStream() {
    std::thread([this] { run(); }).detach();  // it lives as long as the process
  }

  void enqueue(std::function<void()> work) {
    std::lock_guard guard(mutex_);
    queue_.push_back(std::move(work));
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty(); });
    if (!failure_.empty())
      throw DeviceError(kFailed, "hostSynchronize failed: " + std::exchange(failure_, {}));
  }
  bool idle() {
    std::lock_guard guard(mutex_);
    return queue_.empty();
  }

 private:
  void run() {
    for (;;) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !queue_.empty(); });
        work = queue_.front();
      }
      std::string failure;
      try {
        work();
      } catch (const std::exception& error) { failure = error.what(); }
      work = {};
      std::lock_guard guard(mutex_);
      if (failure_.empty()) failure_ = failure;
      queue_.pop_front();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;  // the first is running
  std::string failure_;
};

// Recording makes a new version; a wait is for the version of its call.
class HostEvent {
 public:
  uint64_t record() {
    std::lock_guard guard(mutex_);
    return ++recorded_;
  }
  void reach(uint64_t version) {
    std::lock_guard guard(mutex_);
    reached_ = version;
    time_ns_ = now_ns();
    changed_.notify_all();
  }
  uint64_t version() {
    std::lock_guard guard(mutex_);
    return recorded_;
  }
  bool is_reached() {
    std::lock_guard guard(mutex_);
    return reached_ >= recorded_;
  }
  void wait_for(uint64_t version) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_ >= version; });
  }
  int64_t time_ns() {
    std::lock_guard guard(mutex_);
    return time_ns_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t recorded_ = 0, reached_ = 0;
  int64_t time_ns_ = 0;
};

HostStream& stream_at(StreamHandle handle) { return *reinterpret_cast<HostStream*>(handle); }
HostEvent& event_at(EventHandle handle) { return *reinterpret_cast<HostEvent*>(handle); }
void* pointer(Address address) { return reinterpret_cast<void*>(address); }

}  // namespace

HostDriver& driver() {
  static auto* made = new HostDriver;
  return *made;
}

const runtime::DriverCalls& HostDriver::calls() const {
  static const runtime::DriverCalls names{
      .copy = "hostCopy",
      .copy_async = "hostCopyAsync",
      .synchronize_device = "hostSynchronizeDevice",
      .synchronize_stream = "hostSynchronize",
      .record_event = "hostRecord",
      .synchronize_event = "hostSynchronizeEvent",
      .stream_wait_event = "hostWaitEvent",
      .replay_graph = nullptr,  // it has no graphs
  };
  return names;
}

void HostDriver::enqueue(StreamHandle stream, std::function<void()> work) {
  stream_at(stream).enqueue(std::move(work));
}

StreamHandle HostDriver::open(int device) {
  activate(device);
  return create_stream(0);
}

void HostDriver::activate(int device) { t_active = device; }

void HostDriver::synchronize_device() {
  std::vector<StreamHandle> streams;
  {
    std::lock_guard guard(mutex_);
    streams = streams_[size_t(t_active)];
  }
  for (StreamHandle stream : streams) stream_at(stream).wait();
}

MemoryInfo HostDriver::memory_info() {
  std::lock_guard guard(mutex_);
  return {kCapacity - used_[size_t(t_active)], kCapacity};
}

StreamHandle HostDriver::create_stream(int) {
  const auto made = StreamHandle(new HostStream);
  std::lock_guard guard(mutex_);
  streams_[size_t(t_active)].push_back(made);
  return made;
}

void HostDriver::synchronize_stream(StreamHandle stream) { stream_at(stream).wait(); }
bool HostDriver::stream_is_idle(StreamHandle stream) { return stream_at(stream).idle(); }

EventHandle HostDriver::create_event(EventOptions) { return EventHandle(new HostEvent); }
void HostDriver::destroy_event(EventHandle event) { delete &event_at(event); }

void HostDriver::record_event(EventHandle event, StreamHandle stream) {
  const uint64_t version = event_at(event).record();
  enqueue(stream, [event, version] { event_at(event).reach(version); });
}

bool HostDriver::event_is_complete(EventHandle event) { return event_at(event).is_reached(); }
void HostDriver::synchronize_event(EventHandle event) { event_at(event).wait_for(event_at(event).version()); }

void HostDriver::make_stream_wait(StreamHandle stream, EventHandle event) {
  enqueue(stream, [event, version = event_at(event).version()] { event_at(event).wait_for(version); });
}

float HostDriver::elapsed_ms(EventHandle begin, EventHandle end) {
  return float(event_at(end).time_ns() - event_at(begin).time_ns()) / 1e6f;
}
int64_t HostDriver::event_time_us(EventHandle event) { return event_at(event).time_ns() / 1000; }

RawMemory HostDriver::allocate(size_t bytes) {
  std::lock_guard guard(mutex_);
  size_t& used = used_[size_t(t_active)];
  if (bytes > kCapacity - used) return {0, 0, join_text("hostMalloc failed: ", kOutOfMemory, " (no room)")};
  const auto address = Address(::operator new(bytes, std::align_val_t(64)));
  memory_[address] = {t_active, bytes};
  used += bytes;
  return {address, bytes, {}};
}

void HostDriver::free(Address address) {
  std::lock_guard guard(mutex_);
  const auto found = memory_.find(address);
  if (found == memory_.end()) throw DeviceError(kFailed, "hostFree failed: 1 (not allocated here)");
  used_[size_t(found->second.device)] -= found->second.bytes;
  memory_.erase(found);
  ::operator delete(pointer(address), std::align_val_t(64));
}

RawMemory HostDriver::allocate_pinned(size_t bytes) {
  return {Address(::operator new(bytes, std::align_val_t(64))), bytes, {}};
}
void HostDriver::free_pinned(Address address) { ::operator delete(pointer(address), std::align_val_t(64)); }

void HostDriver::copy(Address to, Address from, size_t bytes, CopyKind) {
  std::memcpy(pointer(to), pointer(from), bytes);
}
void HostDriver::copy_async(Address to, Address from, size_t bytes, CopyKind kind, StreamHandle stream) {
  enqueue(stream, [=, this] { copy(to, from, bytes, kind); });
}

}  // namespace mt::private_device
