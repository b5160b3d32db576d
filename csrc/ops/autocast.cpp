#include "ops/autocast.h"

#include <unordered_map>

#include "base/per_thread.h"
#include "core/meta_memory.h"
#include "core/thread_state.h"
#include "generated/ops/copy.h"

namespace mt::autocast {
namespace {

// The parameter is kept with its cast, so that its address stays its own.
struct Cached {
  Tensor parameter, cast;
};
using Cache = std::unordered_map<const TensorImpl*, Cached>;

uint8_t bit(DeviceType device) { return uint8_t(1u << int(device)); }

Tensor cast_to(const Tensor& tensor, DType dtype) {
  return ops::_to_copy(tensor, dtype, std::nullopt, false, std::nullopt);
}

// Casts of parameters are used many times in a forward pass, and then their gradients meet in one cast back. One made
// without a graph would be of no use to a call that wants one.
bool worth_keeping(const Tensor& tensor, DType dtype) {
  return state().cache_enabled && thread_state().grad_enabled && dtype != DType::float32 &&
         tensor.dtype() == DType::float32 && tensor.impl()->requires_grad && tensor.is_leaf() &&
         !tensor.is_view();
}

Tensor cached_cast(const Tensor& tensor, DType dtype) {
  if (!worth_keeping(tensor, dtype)) return cast_to(tensor, dtype);
  if (!state().cache) state().cache = new Cache;
  Cache& cache = *static_cast<Cache*>(state().cache);
  const auto found = cache.find(tensor.impl());
  if (found != cache.end() && found->second.cast.dtype() == dtype) return found->second.cast;
  Tensor cast = cast_to(tensor, dtype);
  cache[tensor.impl()] = {tensor, cast};
  return cast;
}

}  // namespace

std::atomic<int> g_threads{0};

State::~State() {
  if (devices) g_threads.fetch_sub(1, std::memory_order_relaxed);
}

State& state() {
  static constinit PerThread<State> own;
  return *own;
}

Cast::Cast(const char* op, Policies policies, std::initializer_list<const Tensor*> tensors,
           std::initializer_list<TensorList> lists)
    : paused_(std::exchange(state().devices, uint8_t(0))) {
  const auto each = [&](const auto& f) {
    for (const Tensor* t : tensors)
      if (t->defined()) f(*t);
    for (const TensorList& list : lists)
      for (const Tensor& t : list)
        if (t.defined()) f(t);
  };
  uint8_t present = 0;
  each([&](const Tensor& t) { present |= bit(meant_type(t.device())); });
  present &= paused_;
  for (int slot = int(DeviceType::accelerator); slot < kDeviceTypes; ++slot)
    if (present & bit(DeviceType(slot))) device_ = DeviceType(slot), policy_ = policies.accelerator;
  if (device_ == DeviceType::cpu && (present & bit(DeviceType::cpu))) policy_ = policies.cpu;
  if (policy_ == Policy::none) return;
  if (policy_ == Policy::refused) {
    state().devices = paused_;
    fail(ErrorKind::runtime, op, " is unsafe to autocast: its input is a probability, which the lower ",
         "precision rounds to 0 or 1. Use binary_cross_entropy_with_logits, or leave autocast around the "
         "call.");
  }
  if (policy_ == Policy::lower || policy_ == Policy::widest) to_ = lower_dtype(device_);
  if (policy_ == Policy::widest)
    each([&](const Tensor& t) {
      if (eligible(t) && t.dtype() == DType::float32) to_ = DType::float32;
    });
}

Cast::~Cast() { state().devices = paused_; }

bool Cast::eligible(const Tensor& tensor) const {
  return tensor.defined() && meant_type(tensor.device()) == device_ && is_floating(tensor.dtype()) &&
         tensor.dtype() != DType::float64;
}

Tensor Cast::operator()(const Tensor& tensor) const {
  if (policy_ == Policy::float32_result || policy_ == Policy::alone) return tensor;
  if (!eligible(tensor) || tensor.dtype() == to_) return tensor;
  return cached_cast(tensor, to_);
}

Tensor Cast::back(const Tensor& result, DType dtype) const {
  const bool wanted = policy_ == Policy::float32_inside && is_floating(result.dtype());
  return wanted && result.dtype() != dtype ? cast_to(result, dtype) : result;
}

std::vector<Tensor> Cast::operator()(TensorList tensors) const {
  std::vector<Tensor> out;
  out.reserve(tensors.size());
  for (const Tensor& t : tensors) out.push_back((*this)(t));
  return out;
}

bool is_enabled(DeviceType device) { return state().devices & bit(device); }

void set_enabled(DeviceType device, bool enabled) {
  State& s = state();
  const bool before = s.devices != 0;
  s.devices = uint8_t(enabled ? s.devices | bit(device) : s.devices & ~bit(device));
  g_threads.fetch_add(int(s.devices != 0) - int(before), std::memory_order_relaxed);
}

DType lower_dtype(DeviceType device) {
  const DType usual = device == DeviceType::cpu ? DType::bfloat16 : DType::float16;
  return state().lower[int(device)].value_or(usual);
}

void set_lower_dtype(DeviceType device, DType dtype) { state().lower[int(device)] = dtype; }

void clear_cache() { delete static_cast<Cache*>(std::exchange(state().cache, nullptr)); }

}  // namespace mt::autocast
