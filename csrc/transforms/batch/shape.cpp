#include "generated/batch/shape.h"

#include "generated/ops/shape.h"
#include "generated/ops/view.h"

namespace mt::batch {

Values cat(Call& call) {
  const auto& given = std::get<std::vector<Tensor>>(call.arguments[0]);
  int64_t rank = 1;
  for (const Tensor& t : given) rank = std::max(rank, t.dim());
  const auto skipped = [&](const Tensor& t) { return t.dim() == 1 && t.numel() == 0; };
  std::vector<Tensor> batches;
  for (const Tensor& t : given)
    if (!skipped(t) || rank == 1) batches.push_back(call.batch_of(t));
  return {ops::cat(batches, below(std::get<int64_t>(call.arguments[1]), rank))};
}

// Its dimensions are those of the result.
Values diag_embed(Call& call) {
  Values values(call.arguments);
  values[0] = call.value(0);
  for (size_t i : {2, 3}) values[i] = below(std::get<int64_t>(values[i]), call.rank(0) + 1);
  return call.run(std::move(values));
}

// (self, room, size, stride, offset): each slice has room of its own.
Values as_strided_sum(Call& call) {
  Values values(call.arguments);
  const int64_t room = std::get<int64_t>(values[1]);
  values[0] = call.batch(0);
  values[1] = room * call.size;
  values[2] = with_batch(call.size, std::get<Dims>(values[2]));
  values[3] = with_batch(room, std::get<Dims>(values[3]));
  return {std::get<Tensor>(call.run(std::move(values)).at(0)).reshape(Dims{call.size, room})};
}

// (channels, height, width), or a batch of them.
Values images(Call& call) { return call.rank(0) == 3 ? leading(call) : fold(call); }
// (channels of windows, windows), or a batch of them.
Values columns(Call& call) { return call.rank(0) == 2 ? leading(call) : fold(call); }

}  // namespace mt::batch
