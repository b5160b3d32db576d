#include "core/intercept.h"

namespace mt {
namespace {

bool has_special(const Values& values, Special kind) {
  const auto is = [&](const Tensor& t) { return t.defined() && (t.impl()->special & kind); };
  for (const Value& value : values) {
    if (const auto* tensor = std::get_if<Tensor>(&value); tensor && is(*tensor)) return true;
    if (const auto* list = std::get_if<std::vector<Tensor>>(&value))
      for (const Tensor& t : *list)
        if (is(t)) return true;
  }
  return false;
}

}  // namespace

Interceptor g_python_interceptor = nullptr;
Interceptor g_batch_interceptor = nullptr;

bool taken_over(uint8_t special) {
  const ThreadState& state = thread_state();
  return !state.interception_off && (special || state.dispatch_modes > 0);
}

Values intercept_values(const OpInfo& info, Values arguments) {
  const Operator* op = find_operator(info.name, info.overload);
  MT_CHECK(op, info.name, ".", info.overload, " is in no table of operators");
  if (g_batch_interceptor && has_special(arguments, kBatched))
    return g_batch_interceptor(*op, std::move(arguments));
  MT_CHECK(g_python_interceptor, info.name, ": nobody takes tensors of this kind");
  return g_python_interceptor(*op, std::move(arguments));
}

}  // namespace mt
