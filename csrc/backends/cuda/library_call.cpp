#include "backends/cuda/library_call.h"

#include "backends/cuda/listed.h"

#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "base/per_thread.h"
#include "devices/launch_log.h"

namespace mt::cuda {
namespace {

devices::StreamAccelerator& accelerator_of(const Tensor& tensor) {
  devices::StreamAccelerator* found = devices::stream_accelerator(tensor.device().type);
  MT_CHECK(found, "nothing drives the device ", to_string(tensor.device()));
  return *found;
}

struct Kept {
  int device = -1;
  void* stream = nullptr;
  void* address = nullptr;
};

void* kept_piece(const Place& place) {
  static PerThread<Kept> kept;
  Kept& last = *kept;
  if (last.device == place.index() && last.stream == place.stream) [[likely]]
    return last.address;
  static std::mutex mutex;
  static auto* pieces = new std::unordered_map<int, std::unordered_map<void*, void*>>;  // lives for ever
  const std::lock_guard guard(mutex);
  void*& address = (*pieces)[place.index()][place.stream];
  if (!address)
    address = place.accelerator.allocator(place.index())
                  .allocate(StreamScratch::kBytes, StreamHandle(place.stream))
                  ->address();
  last = {place.index(), place.stream, address};
  return address;
}

}  // namespace

Place::Place(const Tensor& tensor)
    : accelerator(accelerator_of(tensor)), device(tensor.device()), stream(current_stream(device)) {
  launch_kept_back();
  accelerator.activate(device.index);
}

Scratch::Scratch(const Place& place, size_t bytes) { take(place, bytes); }

void Scratch::take(const Place& place, size_t bytes) {
  if (bytes == 0) return;
  allocator_ = &place.accelerator.allocator(place.index());
  block_ = allocator_->allocate(bytes, StreamHandle(place.stream));
  address_ = block_->address();
}

void Scratch::give_back() {
  if (block_) allocator_->free(block_);
}

StreamScratch::StreamScratch(const Place& place, size_t bytes) {
  if (bytes == 0) return;
  if (place.accelerator.capture_of(place.index(), place.stream)) [[unlikely]]
    take(place, bytes);
  else address_ = kept_piece(place);
}

void after_enqueue(const Place& place, const char* name) {
  devices::note_launch(name, place.stream);
  if (place.accelerator.launch_blocking()) [[unlikely]]
    place.accelerator.synchronize_stream(place.index(), place.stream);
}

Settings& settings() {
  static auto* made = new Settings;
  return *made;
}

}  // namespace mt::cuda
