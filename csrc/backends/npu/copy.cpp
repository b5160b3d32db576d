#include "backends/npu/copy.h"

#include <cstring>

#include "backends/npu/aclnn_call.h"
#include "backends/npu/launch_log.h"
#include "core/host_lock.h"
#include "core/observe_task.h"

namespace mt::npu {
namespace {

// Up to this size a pageable source is copied to pinned memory first, so that the host never waits for the device;
// above it the extra copy and the pinned memory cost more than the wait.
constexpr size_t kStagingLimit = size_t(16) << 20;

void copy_on_device(const Tensor& from, const Tensor& to) {
  static aclnn::Function<decltype(aclnnInplaceCopyGetWorkspaceSize)> f("aclnnInplaceCopy");
  aclnn::call(f, to.device(), to, from);
}

void wait_for(int device, void* stream) {
  report_wait();
  host_hooks().synchronize(device, stream);
}

// What the profiler calls it. Asynchronous copies are of pinned memory.
const char* copy_name(aclrtMemcpyKind kind, bool pinned) {
  switch (kind) {
    case ACL_MEMCPY_HOST_TO_DEVICE:
      return pinned ? "Memcpy HtoD (Pinned -> Device)" : "Memcpy HtoD (Pageable -> Device)";
    case ACL_MEMCPY_DEVICE_TO_HOST:
      return pinned ? "Memcpy DtoH (Device -> Pinned)" : "Memcpy DtoH (Device -> Pageable)";
    default: return "Memcpy DtoD (Device -> Device)";
  }
}

void copy_bytes_async(void* to, const void* from, size_t bytes, aclrtMemcpyKind kind, int device,
                      void* stream) {
  TaskScope scope({.kind = TaskKind::copy,
                   .call = "aclrtMemcpyAsync",
                   .name = copy_name(kind, true),
                   .device = device,
                   .stream = stream,
                   .bytes = int64_t(bytes)});
  check(acl().aclrtMemcpyAsync(to, bytes, from, bytes, kind, stream), "aclrtMemcpyAsync");
  note_launch("aclrtMemcpyAsync", stream);
}

// The stream is idle.
void copy_bytes(void* to, const void* from, size_t bytes, aclrtMemcpyKind kind, int device, void* stream) {
  TaskScope scope({.kind = TaskKind::host_copy,
                   .call = "aclrtMemcpy",
                   .name = copy_name(kind, false),
                   .device = device,
                   .stream = stream,
                   .bytes = int64_t(bytes)});
  HostWork without_lock{int64_t(bytes)};
  check(acl().aclrtMemcpy(to, bytes, from, bytes, kind), "aclrtMemcpy");
}

void copy_on_host(const Tensor& from, const Tensor& to) {
  if (from.is_contiguous() && to.is_contiguous() && from.dtype() == to.dtype())
    std::memcpy(to.data(), from.data(), to.nbytes());
  else copy_between(from, to, false);
}

bool same_layout(const Tensor& from, const Tensor& to) {
  return from.dtype() == to.dtype() && from.is_contiguous() && to.is_contiguous();
}

// ---- host to device ----

bool is_one_value(const Tensor& tensor) {
  for (int64_t d = 0; d < tensor.dim(); ++d)
    if (tensor.sizes()[d] != 1 && tensor.strides()[d] != 0) return false;
  return true;
}

// What aclnnInplaceFillScalar takes on every chip.
bool can_be_filled(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::uint8:
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64:
    case DType::float16:
    case DType::bfloat16:
    case DType::float32: return true;
    default: return false;
  }
}

// The source's own rounding: 300 becomes 44 in a uint8 and 0.1f stays 0.1f, whatever the fill does with a double.
Scalar converted(const Tensor& value, DType dtype) {
  if (value.dtype() == dtype) return read_scalar(value.data(), dtype);
  Tensor one = new_tensor({}, dtype, {DeviceType::cpu});
  copy_between(tensor_over(value.storage_ref(), value.dtype(), {}, {}, value.offset()), one, false);
  return read_scalar(one.data(), dtype);
}

void fill(const Tensor& to, const Scalar& value) {
  static aclnn::Function<decltype(aclnnInplaceFillScalarGetWorkspaceSize)> f("aclnnInplaceFillScalar");
  aclnn::call(f, to.device(), to, value);
}

// Pinned memory for one copy. It is given back when the copy has been enqueued and reused when it is done.
class Staging {
 public:
  explicit Staging(size_t bytes) : pool_(host_hooks().pinned_pool()), address_(pool_.allocate(bytes)) {}
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
    pool_.record_stream(address_, runtime::StreamHandle(stream));
    pool_.free(std::exchange(address_, 0));
  }

 private:
  runtime::PinnedPool& pool_;
  runtime::Address address_;
};

// `to` is contiguous.
void upload_dense(const Tensor& from, const Tensor& to, bool non_blocking) {
  const int device = to.device().index;
  const size_t bytes = to.nbytes();
  activate(device);
  void* stream = current_stream(device);
  if (from.storage().pinned && non_blocking && same_layout(from, to)) {
    copy_bytes_async(to.data(), from.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE, device, stream);
    host_hooks().pinned_pool().record_stream(runtime::Address(from.storage().data),
                                             runtime::StreamHandle(stream));
  } else if (bytes <= kStagingLimit) {
    Staging staging(bytes);
    copy_on_host(from, staging.as_tensor(to.sizes(), to.dtype()));
    copy_bytes_async(to.data(), staging.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE, device, stream);
    staging.used_by(stream);
  } else {
    Tensor source = from;
    if (!same_layout(from, to)) {
      source = new_tensor(to.sizes(), to.dtype(), {DeviceType::cpu});
      copy_on_host(from, source);
    }
    wait_for(device, stream);
    copy_bytes(to.data(), source.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE, device, stream);
  }
}

void upload(const Tensor& from, const Tensor& to, bool non_blocking) {
  if (is_one_value(from) && can_be_filled(to.dtype())) return fill(to, converted(from, to.dtype()));
  if (to.is_contiguous()) return upload_dense(from, to, non_blocking);
  Tensor dense = new_tensor(to.sizes(), to.dtype(), to.device());
  upload_dense(from, dense, non_blocking);
  copy_on_device(dense, to);
}

// ---- device to host ----

void download(const Tensor& from, const Tensor& to, bool non_blocking) {
  const int device = from.device().index;
  activate(device);
  const Tensor source = contiguous(from);
  void* stream = current_stream(device);
  if (non_blocking && to.storage().pinned && same_layout(source, to)) {
    copy_bytes_async(to.data(), source.data(), to.nbytes(), ACL_MEMCPY_DEVICE_TO_HOST, device, stream);
    host_hooks().pinned_pool().record_stream(runtime::Address(to.storage().data),
                                             runtime::StreamHandle(stream));
    return;
  }
  wait_for(device, stream);
  if (same_layout(source, to))
    return copy_bytes(to.data(), source.data(), to.nbytes(), ACL_MEMCPY_DEVICE_TO_HOST, device, stream);
  Tensor arrived = new_tensor(from.sizes(), from.dtype(), {DeviceType::cpu});
  copy_bytes(arrived.data(), source.data(), source.nbytes(), ACL_MEMCPY_DEVICE_TO_HOST, device, stream);
  copy_on_host(arrived, to);
}

// ---- device to device ----

void enable_peer(int device, int peer) {
  activate(device);
  int32_t possible = 0;
  check(acl().aclrtDeviceCanAccessPeer(&possible, device, peer), "aclrtDeviceCanAccessPeer");
  MT_CHECK(possible, "npu:", device, " cannot reach the memory of npu:", peer,
           ". Copy through the host: x.cpu().to('npu:", device, "').");
  check(acl().aclrtDeviceEnablePeerAccess(peer, 0), "aclrtDeviceEnablePeerAccess");
}

// Enabled once for each pair; a second call would be refused by some drivers.
void enable_peers(int a, int b) {
  static std::mutex mutex;
  static auto* enabled = new std::array<uint64_t, kMaxDevices>{};
  std::lock_guard<std::mutex> guard(mutex);
  uint64_t& peers = (*enabled)[size_t(a)];
  if (peers >> b & 1) return;
  enable_peer(a, b);
  enable_peer(b, a);
  peers |= uint64_t(1) << b;
}

// The copy runs on the source's stream. The destination's memory must be ready by then, and whoever uses it next on
// its own stream must come after: two events. Temporaries are then reused in the order of their own streams.
void copy_between_devices(const Tensor& from, const Tensor& to) {
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
  void *source_stream = current_stream(source_device), *target_stream = current_stream(target_device);
  make_wait_across(source_device, source_stream, target_device, target_stream);
  activate(source_device);
  copy_bytes_async(target.data(), source.data(), target.nbytes(), ACL_MEMCPY_DEVICE_TO_DEVICE, source_device,
                   source_stream);
  make_wait_across(target_device, target_stream, source_device, source_stream);
  if (!target.same(to)) copy_on_device(target, to);
}

}  // namespace

Tensor contiguous(const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  Tensor dense = new_tensor(tensor.sizes(), tensor.dtype(), tensor.device());
  copy_on_device(tensor, dense);
  return dense;
}

void copy(const Tensor& from, const Tensor& to, bool non_blocking) {
  if (to.numel() == 0) return;
  if (from.device().is_cpu()) return upload(from, to, non_blocking);
  if (to.device().is_cpu()) return download(from, to, non_blocking);
  if (from.device() == to.device()) return copy_on_device(from, to);
  copy_between_devices(from, to);
}

Scalar item(const Tensor& tensor) {
  const int device = tensor.device().index;
  activate(device);
  void* stream = current_stream(device);
  wait_for(device, stream);
  alignas(16) char value[16];
  copy_bytes(value, tensor.data(), size_t(tensor.itemsize()), ACL_MEMCPY_DEVICE_TO_HOST, device, stream);
  return read_scalar(value, tensor.dtype());
}

StorageRef new_pinned_storage(size_t nbytes) {
  npu().initialize();
  runtime::PinnedPool& pool = host_hooks().pinned_pool();
  const runtime::Address address = pool.allocate(nbytes);
  auto storage = wrap_storage(
      {DeviceType::cpu}, reinterpret_cast<void*>(address), nbytes,
      [](Storage& self) {
        try {
          static_cast<runtime::PinnedPool*>(self.context)->free(runtime::Address(self.data));
        } catch (const Error&) {
          // The device cannot say whether it still reads the memory: the pool never uses it again. A tensor may die
          // during another exception, so this one has nowhere to go; the next call to the device reports the cause.
        }
      },
      &pool);
  storage->pinned = true;
  storage->resizable = false;
  return storage;
}

}  // namespace mt::npu
