#include "backends/npu/npu_backend.h"

#include "backends/npu/copy.h"
#include "backends/npu/generator.h"
#include "backends/npu/npu_runtime.h"
#include "core/dispatch.h"
#include "core/storage.h"
#include "generated/npu/register.h"

namespace mt::npu {
namespace {

void release(Storage& storage) {
  allocator(storage.device.index).free(static_cast<runtime::Block*>(storage.context));
}

void allocate(Storage& storage, size_t nbytes) {
  const int device = storage.device.index;
  runtime::Block* block = allocator(device).allocate(nbytes, runtime::StreamHandle(current_stream(device)));
  storage.data = block->address();
  storage.context = block;
  storage.release = release;
}

void copy_within(Storage& to, const Storage& from, size_t nbytes) {
  const int device = to.device.index;
  npu().copy_async(runtime::Address(to.data), runtime::Address(from.data), nbytes,
                   runtime::CopyKind::device_to_device,
                   {device, 0, runtime::StreamHandle(current_stream(device))});
}

Device resolve(Device device) {
  const int index = device.index < 0 ? thread_state().current_npu : device.index;
  // Also after a fork: the thread has no device then, and opening says why.
  if (thread_state().active_npu != index) [[unlikely]]
    activate_slowly(index);
  return {DeviceType::npu, int8_t(index)};
}

void* or_default(Device device, void* stream) {
  return stream ? stream : NpuRuntime::default_stream_handle(device.index);
}

}  // namespace

void record_stream(Storage& storage, void* stream) {
  if (storage.release != release) return;  // empty, or memory that someone else owns and keeps
  allocator(storage.device.index)
      .record_stream(static_cast<runtime::Block*>(storage.context), runtime::StreamHandle(stream));
}

void register_npu_backend() {
  register_npu_kernels();
  register_storage_factory(DeviceType::npu, {allocate, copy_within});
  DeviceHooks hooks;
  hooks.copy = copy;
  hooks.item = item;
  hooks.resolve = resolve;
  hooks.current_stream = [](Device device) { return current_stream(device.index); };
  hooks.set_stream = [](Device device, void* stream) { set_current_stream(device.index, stream); };
  hooks.wait = [](Device device, void* waiting, void* finished) {
    make_wait(device.index, or_default(device, waiting), or_default(device, finished));
  };
  hooks.record_stream = [](const Tensor& tensor, void* stream) { record_stream(tensor.storage(), stream); };
  register_device_hooks(DeviceType::npu, hooks);
  register_generator_factory(
      DeviceType::npu,
      {[](Device device) -> Generator* { return &default_generator(device.index); },
       [](Device device) -> Generator* { return new NpuGenerator(device, NpuGenerator::kDefaultSeed); }});
}

}  // namespace mt::npu
