// What calls of NVIDIA's libraries share: where they run, memory for their work, traces, the settings of PyTorch.
#pragma once

#include <atomic>

#include "backends/cuda/launch_queue.h"
#include "core/observe_task.h"
#include "core/tensor.h"
#include "devices/stream_accelerator.h"

namespace mt::cuda {

// The device of a tensor, made current for CUDA on this thread, and its current stream.
struct Place {
  explicit Place(const Tensor& tensor);
  devices::StreamAccelerator& accelerator;
  const Device device;
  void* const stream;
  int index() const { return device.index; }
};

// Memory for the time of a call: handed back at once, and not reused before the stream got there.
class Scratch {
 public:
  Scratch(const Place& place, size_t bytes);
  ~Scratch() { give_back(); }
  Scratch(const Scratch&) = delete;
  void* address() const { return address_; }  // null for no bytes

 protected:
  Scratch() = default;
  void take(const Place& place, size_t bytes);
  void give_back();
  void* address_ = nullptr;

 private:
  runtime::CachingAllocator* allocator_ = nullptr;
  runtime::Block* block_ = nullptr;
};

// The same for products, of which there are many: one piece per stream, which stays. What a graph records has its own,
// since the graph runs beside what the stream does later.
class StreamScratch : public Scratch {
 public:
  static constexpr size_t kBytes = size_t(32) << 20;  // what NVIDIA advises for Hopper
  StreamScratch(const Place& place, size_t bytes);    // bytes <= kBytes
};

void hand_over_launches(int device);  // launch.h
void after_enqueue(const Place& place, const char* name);

// One call of a library that enqueues work: `name` is what traces show, and lives for ever.
template <class Call>
void enqueue(const Place& place, const char* function, const char* name, Call call) {
  hand_over_launches(place.index());
  {
    TaskScope scope({TaskKind::kernel, function, name, place.device, place.stream});
    call();
  }
  after_enqueue(place, name);
}

// The same by way of the queue (launch_queue.h): `call` gives an Outcome, and is copied.
template <class Call>
void enqueue_soon(const Place& place, const char* function, const char* name, const Call& call) {
  {
    TaskScope scope({TaskKind::kernel, function, name, place.device, place.stream});
    launch_queue(place.index()).give(call, nullptr, 0);
  }
  after_enqueue(place, name);
}

// torch.backends.cuda.matmul and torch.backends.cudnn, as far as libraries ask.
struct Settings {
  std::atomic<bool> tf32_products{false};     // matmul.allow_tf32
  std::atomic<bool> reduced_sums{true};       // allow_(fp16|bf16)_reduced_precision_reduction
  std::atomic<bool> tf32_convolutions{true};  // cudnn.allow_tf32
  std::atomic<bool> benchmark{false};         // cudnn.benchmark
  std::atomic<bool> deterministic{false};     // cudnn.deterministic, or deterministic algorithms
};
Settings& settings();

}  // namespace mt::cuda
