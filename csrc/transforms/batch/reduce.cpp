#include "generated/batch/reduce.h"

#include "generated/ops/view.h"

namespace mt::batch {

// (self, dim, keepdim): without a dimension it is about all elements of a slice.
Values arg_reduce(Call& call) {
  const Tensor& value = call.value(0);
  const bool whole = is_none(call.arguments[1]) || call.rank(0) == 0;
  if (!whole) {
    Values values(call.arguments);
    values[0] = value;
    values[1] = below(std::get<int64_t>(values[1]), call.rank(0));
    return call.run(std::move(values));
  }
  if (!is_none(call.arguments[1])) wrap_dim(std::get<int64_t>(call.arguments[1]), 0);
  const Tensor rows = value.reshape(Dims{call.size, call.given(0).numel()});
  Values results = call.run({rows, int64_t(1), false});
  if (std::get<bool>(call.arguments[2]))
    for (Value& each : results) each = with_rank(std::get<Tensor>(each), call.rank(0));
  return results;
}

}  // namespace mt::batch
