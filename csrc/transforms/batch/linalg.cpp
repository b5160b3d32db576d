#include "generated/batch/linalg.h"

#include "generated/ops/creation.h"

namespace mt::batch {
namespace {

// Stacks of matrices, vectors or numbers that broadcast: `own` are the dimensions of one.
Values aligned(Call& call, std::initializer_list<int64_t> own) {
  int64_t stacked = 0;
  size_t i = 0;
  for (int64_t rank : own) stacked = std::max(stacked, call.rank(i++) - rank);
  Values values(call.arguments);
  i = 0;
  for (int64_t rank : own) values[i] = with_rank(call.batch(i), stacked + rank), ++i;
  return call.run(std::move(values));
}

}  // namespace

// What a driver does not compute is empty, without dimensions for the batch.
Values lstsq(Call& call) {
  Values results = leading(call);
  for (Value& each : results)
    if (auto& t = std::get<Tensor>(each); t.sizes()[0] != call.size)
      t = ops::new_empty(t, Dims{call.size, 0});
  return results;
}

Values ldl_solve(Call& call) { return aligned(call, {2, 1, 2}); }
Values pinv(Call& call) { return aligned(call, {2, 0, 0}); }

}  // namespace mt::batch
