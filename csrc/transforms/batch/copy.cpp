#include "generated/batch/copy.h"

#include "generated/ops/copy.h"

namespace mt::batch {

// A number for each slice is one to copy.
Values fill(Call& call) {
  if (call.batched(1)) ops::copy_(call.value(0), with_rank(call.value(1), call.rank(0)), false);
  else ops::fill_(call.value(0), call.value(1));
  return {};
}

}  // namespace mt::batch
