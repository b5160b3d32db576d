// Where other code stands between a caller and an operator.
//
// Note [Interception]
// An operator records history and then runs: a shape rule and a kernel of the device. A tensor may want that second part
// for itself: one whose Python class has __torch_dispatch__, or one that stands for a batch of tensors inside vmap. So
// may a mode of the thread (TorchDispatchMode). The operator then hands its arguments over instead (intercept), and goes
// on with the results: history lies above, so that such tensors have gradients like any other. Operators that are made
// of others are not intercepted: their parts are.
//
// While nobody asks for it this costs a byte of each argument and a branch: modes are noticed through the observer that
// OpScope has looked for already (set_look_up), and what is done then stands in a function of its own.
#pragma once

#include "core/observe.h"
#include "core/operators.h"
#include "core/thread_state.h"

namespace mt {

// What TensorImpl::special says.
enum Special : uint8_t {
  kHandled = 1,         // its Python class has __torch_dispatch__
  kBatched = 2,         // it stands for a batch of tensors
  kDual = 4,            // it has a tangent
  kSparse = 8,          // it has no memory, but parts (core/sparse.h)
  kWithoutMemory = 16,  // beside kHandled: a wrapper
};

inline uint8_t special(const Tensor& tensor) { return tensor.impl()->special; }
inline uint8_t special_if_given(const Tensor& tensor) { return tensor.defined() ? special(tensor) : 0; }
inline uint8_t special(TensorList tensors) {
  uint8_t any = 0;
  for (const Tensor& t : tensors) any |= special_if_given(t);
  return any;
}

// Before memory is handed out.
inline void check_has_memory(const Tensor& tensor) {
  MT_CHECK(!(special(tensor) & (kBatched | kSparse | kWithoutMemory)),
           "Cannot access data pointer of Tensor that doesn't have storage");
}

inline bool is_dual(const Tensor& tensor) { return special_if_given(tensor) & kDual; }

bool taken_over(uint8_t special);
// Whether forward mode takes an operator with these arguments: it runs it again, which records history.
bool taken_by_forward(std::initializer_list<const Tensor*> tensors,
                      std::initializer_list<TensorList> lists = {});

// Whether somebody takes over an operator whose tensors are so special: one branch for tensors and modes alike.
inline bool intercepted(const OpScope& scope, uint8_t special = 0) {
  return scope.watched_or(special) && taken_over(special);
}

// Hands a call over: values in, values out.
using Interceptor = Values (*)(const Operator& op, Values arguments);
// Of tensors and modes in Python, and of sparse tensors; set by the bindings.
extern Interceptor g_python_interceptor, g_sparse_interceptor;
// Of transformations (core/transform.h), at the level whose turn it is.
using LevelInterceptor = Values (*)(const Operator& op, Values arguments, int level);
extern LevelInterceptor g_batch_interceptor, g_forward_interceptor;

Values intercept_values(const OpInfo& op, Values arguments);

template <class R, class... A>
[[gnu::cold, gnu::noinline]] R intercept(const OpInfo& op, const A&... arguments) {
  return Results<R>::from(intercept_values(op, boxed_arguments(arguments...)));
}

}  // namespace mt
