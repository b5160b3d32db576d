#include "core/dispatch.h"

#include "core/accelerator.h"
#include "core/host_lock.h"
#include "core/host_position.h"
#include "core/intercept.h"
#include "core/intercept_python.h"
#include "core/transform.h"
#include "core/warn.h"

namespace mt {

void (*g_warn)(const std::string& text) = nullptr;
std::atomic<bool> g_warn_always{false};
HostLock g_host_lock;
HostPositions g_host_positions;

Device resolve_device(Device device) {
  if (device.is_accelerator()) return accelerator(device.type).resolve(device);
  MT_CHECK(device.index <= 0, "invalid device ordinal ", int(device.index), " for device type ",
           name_of(device.type));
  return {device.type, int8_t(-1)};
}

void copy_between(const Tensor& from, const Tensor& to, bool non_blocking) {
  MT_CHECK(!((special(from) | special(to)) & kSparse),
           "copies between dense and sparse tensors are not implemented; use to_dense() or to_sparse()");
  if (from.device().is_meta() || to.device().is_meta()) {
    MT_CHECK_AS(not_implemented, to.device().is_meta(), "Cannot copy out of meta tensor; no data!");
    return;
  }
  const DeviceType other = to.device().is_cpu() ? from.device().type : to.device().type;
  if (from.device().is_accelerator() && to.device().is_accelerator() &&
      from.device().type != to.device().type) {
    // No stream orders the work of two drivers: the host does.
    const Tensor on_host = new_tensor(from.sizes(), from.dtype(), {DeviceType::cpu});
    backend(from.device().type).copy(from, on_host, false);
    return backend(to.device().type).copy(on_host, to, false);
  }
  backend(other).copy(from, to, non_blocking);
}

Scalar item(const Tensor& tensor) {
  if (wanted_by_python(special(tensor))) [[unlikely]] {
    static const Operator& op = *find_operator("aten::_local_scalar_dense", "");
    return Unboxed<const Scalar&>::from(g_python_interceptor(op, {Value(tensor)}).at(0));
  }
  if (tensor.impl()->special & kBatched) [[unlikely]] {
    const Transformed& state = *transformed(tensor);
    MT_CHECK(state.same_for_all,
             "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
             ".item() on a Tensor, please try to rewrite what you're doing with other operations. If error "
             "is occurring somewhere inside PyTorch internals, please file a bug report.");
    return item(state.value);
  }
  MT_CHECK(tensor.numel() == 1, "a Tensor with ", tensor.numel(), " elements cannot be converted to Scalar");
  if (special(tensor) & kSparse) [[unlikely]]
    return item(intercept<Tensor>(OpInfo{"aten::_to_dense", ""}, tensor, std::optional<DType>(),
                                  std::optional<bool>()));
  MT_CHECK(!tensor.device().is_meta(), "Tensor.item() cannot be called on meta tensors");
  if (tensor.device().is_cpu()) return read_scalar(tensor.data(), tensor.dtype());
  return accelerator(tensor.device().type).item(tensor);
}

}  // namespace mt
