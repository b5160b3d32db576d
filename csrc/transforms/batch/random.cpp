#include "generated/batch/random.h"

#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/shape.h"
#include "generated/ops/view.h"
#include "transforms/randomness.h"

namespace mt::batch {
namespace {

void refuse_batched(const Call& call, size_t from) {
  for (size_t i = from; i < call.arguments.size(); ++i)
    MT_CHECK(!std::holds_alternative<Tensor>(call.arguments[i]) || !call.batched(i),
             "Vmap does not currently support same randomness with a batched tensor input. Please file an "
             "issue with functorch");
}

}  // namespace

Values draw_into(Call& call) {
  const bool same = randomness(call) == Randomness::same;
  MT_CHECK(same || call.batched(0),
           "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like "
           "same randomness. If this is necessary for your usage, please file an issue with functorch.");
  if (!same) return leading(call);
  refuse_batched(call, 1);
  Values values(call.arguments);
  const Tensor& target = call.value(0);
  values[0] = call.batched(0) ? ops::empty_like(ops::select(target, 0, 0), std::nullopt) : target;
  for (size_t i = 1; i < values.size(); ++i)
    if (std::holds_alternative<Tensor>(values[i])) values[i] = call.value(i);
  call.run(values);
  if (call.batched(0)) ops::copy_(target, std::get<Tensor>(values[0]), false);
  return {};
}

Values draw(Call& call) {
  if (randomness(call) == Randomness::different) return leading(call);
  refuse_batched(call, 0);
  return drawn_for_all(call);
}

// The tensor says only what is wanted: one draw may serve all.
Values draw_shaped(Call& call) {
  return randomness(call) == Randomness::same ? drawn_for_all(call) : leading(call);
}

// Rows of probabilities, of which there is one in a slice or there are several.
Values draw_rows(Call& call) {
  if (randomness(call) == Randomness::different) return call.rank(0) < 2 ? leading(call) : fold(call);
  refuse_batched(call, 0);
  return drawn_for_all(call);
}

Values draw_filled(Call& call) { return drawn_sized(call); }

// An operator that knows of one draw only.
Values draw_each(Call& call) {
  if (randomness(call) == Randomness::same) return drawn_for_all(call);
  std::vector<Tensor> slices;
  for (int64_t i = 0; i < call.size; ++i) slices.push_back(std::get<Tensor>(call.run(call.arguments).at(0)));
  return {ops::stack(slices, 0)};
}

}  // namespace mt::batch
