#include "generated/batch/sort.h"

#include "generated/ops/sort.h"
#include "generated/ops/view.h"

namespace mt::batch {
namespace {

Tensor rows(const Call& call) { return call.value(0).reshape(Dims{call.size, call.given(0).numel()}); }

Tensor dense(const Tensor& t) { return ops::contiguous(t, MemoryFormat::contiguous); }

}  // namespace

Values median_of_all(Call& call) { return {std::get<0>(ops::median(rows(call), 1, false))}; }
Values nanmedian_of_all(Call& call) { return {std::get<0>(ops::nanmedian(rows(call), 1, false))}; }

// One list of boundaries serves values of any shape; each slice's own lie before each slice's values.
Values search_sorted(Call& call) {
  Values values(call.arguments);
  const bool one_list = !call.batched(0) && !call.batched(2) && call.rank(0) == 1;
  if (one_list) {
    for (size_t i = 0; i < 3; ++i)
      if (!is_none(values[i])) values[i] = dense(call.value(i));
    return call.run(std::move(values));
  }
  for (size_t i = 0; i < 3; ++i)
    if (!is_none(values[i])) values[i] = dense(call.batch(i));
  if (call.rank(0) > 1) return call.run(std::move(values));
  values[1] = std::get<Tensor>(values[1]).reshape(Dims{call.size, call.given(1).numel()});
  const Tensor found = std::get<Tensor>(call.run(std::move(values)).at(0));
  return {found.reshape(with_batch(call.size, call.given(1).sizes()))};
}

}  // namespace mt::batch
