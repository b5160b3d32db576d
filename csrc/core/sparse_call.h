// Operators that only sparse tensors have (family sparse of the table): they have no kernel, and whoever takes sparse
// tensors runs them, whatever their arguments are.
#pragma once

#include "core/intercept.h"
#include "core/sparse.h"

namespace mt {

Values run_sparse_values(const OpInfo& op, Values arguments);

template <class R, class... A>
[[gnu::noinline]] R run_sparse(const OpInfo& op, const A&... arguments) {
  return Results<R>::from(run_sparse_values(op, boxed_arguments(arguments...)));
}

}  // namespace mt
