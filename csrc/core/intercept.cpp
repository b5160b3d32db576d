#include "core/intercept_python.h"

#include "base/per_thread.h"
#include "core/mapped_levels.h"
#include "core/sparse_call.h"
#include "core/transform.h"

namespace mt {
namespace {

// The transformation that takes an operator: that of the highest level among its tensors which is looked at.
struct Taker {
  int level = 0;
  LevelInterceptor interceptor = nullptr;

  void consider(int found, LevelInterceptor whose) {
    if (found > level && found <= thread_state().highest_level) level = found, interceptor = whose;
  }
  void consider(const Tensor& tensor) {
    if (!(special_if_given(tensor) & (kBatched | kDual))) return;
    const Transformed& state = *transformed(tensor);
    consider(state.batch_level, g_batch_interceptor);
    if (!state.tangents) return;
    // Levels that have ended took their tangents along.
    if (state.tangents->empty()) tensor.impl()->special &= uint8_t(~kDual);
    if (!forward_enabled()) return;
    for (const Tangent& each : *state.tangents) consider(each.level, g_forward_interceptor);
  }
};

Taker taker_of(const Values& arguments) {
  Taker taker;
  for (const Value& value : arguments) {
    if (const auto* tensor = std::get_if<Tensor>(&value)) taker.consider(*tensor);
    else if (const auto* list = std::get_if<std::vector<Tensor>>(&value))
      for (const Tensor& t : *list) taker.consider(t);
  }
  return taker;
}

// forward_ad._set_fwd_grad_enabled
struct ForwardSwitch {
  bool on = true;
};
constinit PerThread<ForwardSwitch> t_forward;

uint8_t special(const Values& arguments) {
  uint8_t any = 0;
  for (const Value& value : arguments) {
    if (const auto* tensor = std::get_if<Tensor>(&value)) any |= special_if_given(*tensor);
    else if (const auto* list = std::get_if<std::vector<Tensor>>(&value)) any |= mt::special(*list);
  }
  return any;
}

// Runs the operator itself although its tensors are special: nobody at this level wants it. History is recorded by
// the caller.
Values run_plain(const Operator& op, const Values& arguments) {
  ThreadState& state = thread_state();
  const bool grad = std::exchange(state.grad_enabled, false);
  const int levels = std::exchange(state.highest_level, 0);
  const auto restore = [&] { state.grad_enabled = grad, state.highest_level = levels; };
  try {
    Values results = op.call(arguments);
    restore();
    return results;
  } catch (...) {
    restore();
    throw;
  }
}

}  // namespace

Interceptor g_python_interceptor = nullptr;
Interceptor g_sparse_interceptor = nullptr;
LevelInterceptor g_batch_interceptor = nullptr;
LevelInterceptor g_forward_interceptor = nullptr;
Tensor (*g_copy_transformed)(const Tensor& tensor) = nullptr;

bool wanted_by_python(uint8_t special) {
  const ThreadState& state = thread_state();
  return !state.interception_off && ((special & kHandled) || state.dispatch_modes > 0);
}

bool forward_enabled() { return t_forward->on && !thread_state().inference; }
bool set_forward_enabled(bool enabled) { return std::exchange(t_forward->on, enabled); }

bool taken_by_forward(std::initializer_list<const Tensor*> tensors, std::initializer_list<TensorList> lists) {
  Taker taker;
  for (const Tensor* tensor : tensors) taker.consider(*tensor);
  for (TensorList list : lists)
    for (const Tensor& t : list) taker.consider(t);
  return taker.interceptor && taker.interceptor == g_forward_interceptor;
}

bool taken_over(uint8_t special) {
  MT_CHECK(
      !(special & kWithoutMemory) || !thread_state().interception_off,
      "an operator was called on a tensor without memory of its own where no __torch_dispatch__ is asked "
      "(no_dispatch): call it outside, or on what the tensor holds");
  if ((special & (kBatched | kDual)) && thread_state().highest_level > 0) return true;
  return (special & kSparse) || wanted_by_python(special);
}

Values intercept_values(const OpInfo& info, Values arguments) {
  const Operator* op = find_operator(info.name, info.overload);
  MT_CHECK(op, info.name, ".", info.overload, " is in no table of operators");
  Taker taker = taker_of(arguments);
  if (const MappedLevel* mapped = mapped_level(); mapped && draws(*op))
    taker.consider(mapped->level, g_batch_interceptor);
  if (taker.interceptor) return taker.interceptor(*op, std::move(arguments), taker.level);
  const uint8_t kinds = special(arguments);
  const bool by_python = wanted_by_python(kinds);
  if (!by_python && !(kinds & kSparse)) return run_plain(*op, arguments);
  const Interceptor interceptor = by_python ? g_python_interceptor : g_sparse_interceptor;
  MT_CHECK(interceptor, info.name, ": nobody takes tensors of this kind");
  return interceptor(*op, std::move(arguments));
}

Values run_sparse_values(const OpInfo& info, Values arguments) {
  // Others come first, as everywhere; when they run the operator it comes here again without them.
  if (taken_over(uint8_t(special(arguments) & ~kSparse))) return intercept_values(info, std::move(arguments));
  const Operator* op = find_operator(info.name, info.overload);
  MT_CHECK(op && g_sparse_interceptor, info.name, ": nobody takes sparse tensors");
  return g_sparse_interceptor(*op, std::move(arguments));
}

}  // namespace mt
