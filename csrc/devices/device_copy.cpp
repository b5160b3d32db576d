// Copies between an accelerator and anything else.
//
// Note [Host memory in stream order]
// A copy from pinned memory reads it when the stream gets there, never at the call: an earlier copy on the same stream
// may still be writing it. Pageable memory is no device's to write, so its bytes may be taken at once.
#include <cstring>

#include "base/error.h"
#include "core/dispatch.h"
#include "core/host_lock.h"
#include "core/observe_task.h"
#include "devices/device_graph.h"
#include "devices/launch_log.h"
#include "devices/stream_accelerator.h"

namespace mt::devices {
namespace {

// Up to this size a pageable source is copied to pinned memory first, so that the host never waits for the device;
// above it the extra copy and the pinned memory cost more than the wait.
constexpr size_t kStagingLimit = size_t(16) << 20;

// What the profiler calls it. Asynchronous copies are of pinned memory.
const char* copy_name(CopyKind kind, bool pinned) {
  switch (kind) {
    case CopyKind::host_to_device:
      return pinned ? "Memcpy HtoD (Pinned -> Device)" : "Memcpy HtoD (Pageable -> Device)";
    case CopyKind::device_to_host:
      return pinned ? "Memcpy DtoH (Device -> Pinned)" : "Memcpy DtoH (Device -> Pageable)";
    default: return "Memcpy DtoD (Device -> Device)";
  }
}

void copy_on_host(const Tensor& from, const Tensor& to) {
  if (from.is_contiguous() && to.is_contiguous() && from.dtype() == to.dtype())
    std::memcpy(to.data(), from.data(), to.nbytes());
  else copy_between(from, to, false);
}

bool same_layout(const Tensor& from, const Tensor& to) {
  return from.dtype() == to.dtype() && from.is_contiguous() && to.is_contiguous();
}

bool is_one_value(const Tensor& tensor) {
  for (int64_t d = 0; d < tensor.dim(); ++d)
    if (tensor.sizes()[d] != 1 && (tensor.strides()[d] != 0 || tensor.sizes()[d] == 0)) return false;
  return true;
}

// The source's own rounding: 300 becomes 44 in a uint8 and 0.1f stays 0.1f, whatever a fill does with a double.
Scalar converted(const Tensor& value, DType dtype) {
  if (value.dtype() == dtype) return read_scalar(value.data(), dtype);
  Tensor one = new_tensor({}, dtype, {DeviceType::cpu});
  copy_between(tensor_over(value.storage_ref(), value.dtype(), {}, {}, value.offset()), one, false);
  return read_scalar(one.data(), dtype);
}

// Pinned memory for one copy. It is given back when the copy has been enqueued and reused when it is done.
class Staging {
 public:
  Staging(PinnedPool& pool, size_t bytes) : pool_(pool), address_(pool_.allocate(bytes)) {}
  ~Staging() {
    if (address_) pool_.free(address_);  // nothing was enqueued: no event, no failure
  }
  Staging(const Staging&) = delete;

  Tensor as_tensor(IntList sizes, DType dtype) const {
    Dims strides(sizes.size());
    contiguous_strides(sizes, strides.data());
    const size_t bytes = size_t(checked_numel(sizes)) * itemsize(dtype);
    return tensor_over(wrap_storage({DeviceType::cpu}, data(), bytes, nullptr, nullptr), dtype, sizes,
                       strides, 0);
  }
  void* data() const { return reinterpret_cast<void*>(address_); }
  void used_by(void* stream) {
    pool_.record_stream(address_, StreamHandle(stream));
    pool_.free(std::exchange(address_, 0));
  }

 private:
  PinnedPool& pool_;
  Address address_;
};

}  // namespace

void StreamAccelerator::copy_bytes_async(void* to, const void* from, size_t bytes, CopyKind kind, int device,
                                         void* stream) {
  TaskScope scope({.kind = TaskKind::copy,
                   .call = driver_.calls().copy_async,
                   .name = copy_name(kind, true),
                   .device = {slot_, int8_t(device)},
                   .stream = stream,
                   .bytes = int64_t(bytes)});
  driver_.copy_async(Address(to), Address(from), bytes, kind, StreamHandle(stream));
  note_launch(driver_.calls().copy_async, stream);
}

// The stream is idle.
void StreamAccelerator::copy_bytes(void* to, const void* from, size_t bytes, CopyKind kind, int device,
                                   void* stream) {
  TaskScope scope({.kind = TaskKind::host_copy,
                   .call = driver_.calls().copy,
                   .name = copy_name(kind, false),
                   .device = {slot_, int8_t(device)},
                   .stream = stream,
                   .bytes = int64_t(bytes)});
  HostWork without_lock{int64_t(bytes)};
  driver_.copy(Address(to), Address(from), bytes, kind);
}

void StreamAccelerator::copy_within(Storage& to, const Storage& from, size_t nbytes) {
  const Device device = to.device;
  activate(device.index);
  copy_bytes_async(to.data, from.data, nbytes, CopyKind::device_to_device, device.index,
                   current_stream(device));
}

// After free, the memory waits for the copy that was just enqueued; a captured copy is made again and again.
void StreamAccelerator::pinned_memory_used(const Storage& storage, int device, void* stream) {
  if (DeviceGraph* graph = capture_of(device, stream)) [[unlikely]]
    return graph->keep_pinned(Address(storage.data));
  pinned_pool().record_stream(Address(storage.data), StreamHandle(stream));
}

// ---- host to device ----

// `from` is in order. The bytes arrive in its type and are converted on the device.
void StreamAccelerator::upload_pinned(const Tensor& from, const Tensor& to, bool non_blocking) {
  const Device device = to.device();
  void* stream = current_stream(device);
  const bool direct = same_layout(from, to);
  const Tensor arrived = direct ? to : new_tensor(from.sizes(), from.dtype(), device);
  copy_bytes_async(arrived.data(), from.data(), from.nbytes(), CopyKind::host_to_device, device.index,
                   stream);
  pinned_memory_used(from.storage(), device.index, stream);
  if (!direct) copy_on_device(arrived, to);
  if (!non_blocking) wait_for_data(device.index, stream);
}

// `to` is contiguous.
void StreamAccelerator::upload_dense(const Tensor& from, const Tensor& to) {
  const int device = to.device().index;
  const size_t bytes = to.nbytes();
  void* stream = current_stream(to.device());
  refuse_in_capture(
      device, stream,
      "bytes of pageable host memory, which a replay could not read again, are copied to the "
      "device; make the tensor before the capture, or copy from pinned memory (pin_memory()) with "
      "non_blocking=True");
  if (bytes <= kStagingLimit) {
    Staging staging(pinned_pool(), bytes);
    copy_on_host(from, staging.as_tensor(to.sizes(), to.dtype()));
    copy_bytes_async(to.data(), staging.data(), bytes, CopyKind::host_to_device, device, stream);
    staging.used_by(stream);
    return;
  }
  Tensor source = from;
  if (!same_layout(from, to)) {
    source = new_tensor(to.sizes(), to.dtype(), {DeviceType::cpu});
    copy_on_host(from, source);
  }
  wait_for_data(device, stream);
  copy_bytes(to.data(), source.data(), bytes, CopyKind::host_to_device, device, stream);
}

void StreamAccelerator::upload(const Tensor& from, const Tensor& to, bool non_blocking) {
  activate(to.device().index);
  if (is_pinned_here(from) && from.is_contiguous()) return upload_pinned(from, to, non_blocking);
  if (is_one_value(from) && fill(to, converted(from, to.dtype()))) return;
  if (to.is_contiguous()) return upload_dense(from, to);
  const Tensor dense = new_tensor(to.sizes(), to.dtype(), to.device());
  upload_dense(from, dense);
  copy_on_device(dense, to);
}

// ---- device to host ----

void StreamAccelerator::download(const Tensor& from, const Tensor& to, bool non_blocking) {
  const int device = from.device().index;
  activate(device);
  const Tensor source = contiguous(from);
  void* stream = current_stream(from.device());
  if (non_blocking && is_pinned_here(to) && same_layout(source, to)) {
    copy_bytes_async(to.data(), source.data(), to.nbytes(), CopyKind::device_to_host, device, stream);
    pinned_memory_used(to.storage(), device, stream);
    return;
  }
  wait_for_data(device, stream);
  if (same_layout(source, to))
    return copy_bytes(to.data(), source.data(), to.nbytes(), CopyKind::device_to_host, device, stream);
  const Tensor arrived = new_tensor(from.sizes(), from.dtype(), {DeviceType::cpu});
  copy_bytes(arrived.data(), source.data(), source.nbytes(), CopyKind::device_to_host, device, stream);
  copy_on_host(arrived, to);
}

Scalar StreamAccelerator::item(const Tensor& tensor) {
  const int device = tensor.device().index;
  activate(device);
  void* stream = current_stream(tensor.device());
  wait_for_data(device, stream);
  alignas(16) char value[16];
  copy_bytes(value, tensor.data(), size_t(tensor.itemsize()), CopyKind::device_to_host, device, stream);
  return read_scalar(value, tensor.dtype());
}

// ---- device to device ----

// Enabled once for each pair; a second call would be refused by some drivers.
void StreamAccelerator::enable_peers(int a, int b) {
  open(a), open(b);
  std::lock_guard guard(mutex_);
  uint64_t& peers = peers_[size_t(a)];
  if (peers >> b & 1) return;
  for (const auto& [device, peer] : {std::pair(a, b), std::pair(b, a)}) {
    activate(device);
    MT_CHECK(driver_.can_access_peer(device, peer), name_of(slot_), ":", device,
             " cannot reach the memory of ", name_of(slot_), ":", peer,
             ". Copy through the host: x.cpu().to('", name_of(slot_), ":", device, "').");
    driver_.enable_peer_access(peer);
  }
  peers |= uint64_t(1) << b;
}

// The copy runs on the source's stream. The destination's memory must be ready by then, and whoever uses it next on
// its own stream must come after: two events. Temporaries are then reused in the order of their own streams.
void StreamAccelerator::copy_between_devices(const Tensor& from, const Tensor& to) {
  const int source_device = from.device().index, target_device = to.device().index;
  enable_peers(std::min(source_device, target_device), std::max(source_device, target_device));
  Tensor source = from;
  if (from.dtype() != to.dtype()) {
    source = new_tensor(from.sizes(), to.dtype(), from.device());
    copy_on_device(from, source);
  } else {
    source = contiguous(from);
  }
  const Tensor target = to.is_contiguous() ? to : new_tensor(to.sizes(), to.dtype(), to.device());
  void *source_stream = current_stream(from.device()), *target_stream = current_stream(to.device());
  wait_across(source_device, source_stream, target_device, target_stream);
  activate(source_device);
  copy_bytes_async(target.data(), source.data(), target.nbytes(), CopyKind::device_to_device, source_device,
                   source_stream);
  wait_across(target_device, target_stream, source_device, source_stream);
  if (!target.same(to)) copy_on_device(target, to);
}

Tensor StreamAccelerator::contiguous(const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  Tensor dense = new_tensor(tensor.sizes(), tensor.dtype(), tensor.device());
  copy_on_device(tensor, dense);
  return dense;
}

void StreamAccelerator::copy(const Tensor& from, const Tensor& to, bool non_blocking) {
  if (to.numel() == 0) return;
  if (from.device().is_cpu()) return upload(from, to, non_blocking);
  if (to.device().is_cpu()) return download(from, to, non_blocking);
  if (from.device() == to.device()) return copy_on_device(from, to);
  copy_between_devices(from, to);
}

}  // namespace mt::devices
