#include "generated/batch/pool.h"

namespace mt::batch {

// (self, kernel_size, output_size, samples): one image makes a batch of images; samples have a batch of one already.
Values fractional_pool(Call& call) {
  const int64_t spatial = int64_t(std::get<Dims>(call.arguments[1]).size());
  if (call.rank(0) != spatial + 1) return fold(call);
  Values values(call.arguments);
  values[0] = call.batch(0);
  values[3] = folded(call.batch(3));
  return call.run(std::move(values));
}

}  // namespace mt::batch
