#include "generated/batch/attention.h"

#include "generated/ops/view.h"

namespace mt::batch {

// (batch, heads, length, features) each; a mask is one for all, or one for each.
Values attention(Call& call) {
  Values values(call.arguments);
  const IntList query = call.given(0).sizes();
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::holds_alternative<Tensor>(values[i])) continue;
    if (call.rank(i) == 4 || call.rank(i) == 3) {
      Tensor batch = call.batch(i);
      if (batch.sizes()[1] != query[0]) {  // a mask that broadcasts
        Dims sizes(batch.sizes());
        sizes[1] = query[0];
        batch = ops::expand(batch, sizes);
      }
      values[i] = folded(batch);
    } else if (call.batched(i)) {  // a mask of (length, keys) for each slice
      const Tensor mask = with_rank(call.value(i), 4);
      Dims sizes(mask.sizes());
      sizes[1] = query[0];
      values[i] = folded(ops::expand(mask, sizes));
    } else {
      values[i] = call.value(i);
    }
  }
  Values results = call.run(std::move(values));
  for (Value& each : results)
    if (auto* t = std::get_if<Tensor>(&each)) *t = unfolded(*t, call.size);
  return results;
}

}  // namespace mt::batch
