#include "transforms/randomness.h"

#include "generated/ops/view.h"

namespace mt::batch {

Randomness randomness(const Call& call) {
  const MappedLevel* mapped = mapped_level(call.level);
  const Randomness kind = mapped ? mapped->randomness : Randomness::error;
  MT_CHECK(kind != Randomness::unasked,
           "vmap: We do not yet support calling random operations inside of vmap. Please perform random "
           "operations outside of vmap as a workaround");
  MT_CHECK(kind != Randomness::error,
           "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
           "'different' randomness flags on vmap or perform the randomness operation out of vmap");
  return kind;
}

Values drawn_for_all(Call& call) {
  Values values(call.arguments);
  for (Value& value : values)
    if (auto* t = std::get_if<Tensor>(&value))
      *t =
          is_batched(*t, call.level) ? ops::select(value_of(*t, call.level), 0, 0) : value_of(*t, call.level);
  call.same_for_all = true;
  return call.run(std::move(values));
}

Values drawn_sized(Call& call) {
  if (randomness(call) == Randomness::same) return drawn_for_all(call);
  Values values(call.arguments);
  for (size_t i = 0; i < values.size(); ++i)
    if (call.role(i) == 's') values[i] = with_batch(call.size, std::get<Dims>(values[i]));
  return call.run(std::move(values));
}

}  // namespace mt::batch
