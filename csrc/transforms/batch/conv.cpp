#include "generated/batch/conv.h"

#include "transforms/channels.h"

namespace mt::batch {
// One filter for all slices makes one batch of their images; filters of their own make groups of channels.
Values convolve(Call& call) {
  Values values(call.arguments);
  if (!call.batched(1) && !call.batched(2)) {
    values[0] = folded(call.value(0));
    values[1] = call.value(1);
    if (!is_none(values[2])) values[2] = call.value(2);
    return {unfolded(std::get<Tensor>(call.run(std::move(values)).at(0)), call.size)};
  }
  values[0] = beside(call.batch(0));
  values[1] = folded(call.batch(1));
  if (!is_none(values[2])) values[2] = folded(call.batch(2));
  int64_t& groups = std::get<int64_t>(values.back());
  groups *= call.size;
  return {apart(std::get<Tensor>(call.run(std::move(values)).at(0)), call.size)};
}

Values convolve_weight(Call& call) {
  Values values(call.arguments);
  values[0] = beside(call.batch(0));
  values[1] = beside(call.batch(1));
  int64_t& groups = std::get<int64_t>(values.back());
  groups *= call.size;
  return {unfolded(std::get<Tensor>(call.run(std::move(values)).at(0)), call.size)};
}

}  // namespace mt::batch
