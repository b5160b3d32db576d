#include "generated/batch/creation.h"

#include "transforms/randomness.h"

namespace mt::batch {

// Slices lie one after the other, each as it was asked for.
Values new_empty_strided(Call& call) {
  Values values(call.arguments);
  const Dims &size = std::get<Dims>(values[1]), &stride = std::get<Dims>(values[2]);
  const int64_t room = checked_reach(size, stride, 0, 1);
  values[0] = call.value(0);
  values[1] = with_batch(call.size, size);
  values[2] = with_batch(room, stride);
  return call.run(std::move(values));
}

Values draw_sized(Call& call) { return drawn_sized(call); }

Values draw_like(Call& call) {
  return randomness(call) == Randomness::same ? drawn_for_all(call) : leading(call);
}

}  // namespace mt::batch
