// Drawing by weights and permuting: cells of the random area that are made of other operators' kernels.
#include <cmath>

#include "backends/cuda/dense.h"
#include "backends/cuda/reduce.h"
#include "core/views.h"
#include "devices/counter_generator.h"
#include "generated/cuda/cumulative.h"
#include "generated/cuda/random.h"
#include "generated/ops/sort_tables.h"
#include "kernels/elementwise/functors.h"
#include "kernels/reduce/functors.h"

namespace mt::cuda {
namespace {

Scalar reduced(const Functor& functor, Variants& variants, const Tensor& t) {
  const Tensor one = new_tensor({}, t.dtype(), t.device());
  run_reduce(functor, false, variants, "multinomial", t, {}, one);
  return gpu().item(one);
}

void divide(const Tensor& a, const Tensor& b, const Tensor& out) {
  static Variants variants;
  run_elementwise(functor_of<kernels::div_op>, variants, "multinomial", out.dtype(), out, {a, b}, nullptr);
}

// The host waits for this, as it does in PyTorch.
void check_weights(const Tensor& weights) {
  static Variants largest, smallest, sums;
  const double most = reduced(functor_of<kernels::amax_op>, largest, weights).to<double>(),
               least = reduced(functor_of<kernels::amin_op>, smallest, weights).to<double>();
  MT_CHECK(most < INFINITY && least >= 0, "probability tensor contains either `inf`, `nan` or element < 0");
  Dims rows;
  for (int64_t d = 0; d + 1 < weights.dim(); ++d) rows.push_back(weights.size(d));
  const Tensor totals = new_tensor(rows, weights.dtype(), weights.device());
  run_reduce(functor_of<kernels::sum_op>, true, sums, "multinomial", weights, DimList(-1), totals);
  MT_CHECK(reduced(functor_of<kernels::amin_op>, smallest, totals).to<double>() > 0,
           "invalid multinomial distribution (sum of probabilities <= 0)");
}

}  // namespace

void multinomial(const Tensor& self, int64_t samples, bool replacement, Generator* generator,
                 const Tensor& out) {
  if (out.numel() == 0) return;
  check_weights(self);
  const Device device = self.device();
  const int64_t last = self.dim() - 1;
  if (!replacement || samples == 1) {
    // A race: weights over exponential numbers, of which the largest win.
    const Tensor race = new_tensor(self.sizes(), self.dtype(), device);
    exponential(race, 1, generator);
    divide(self, race, race);
    const Tensor best = new_tensor(out.sizes(), self.dtype(), device);
    return table::topk.find(device)(race, samples, last, true, true, best, out);
  }
  const DType wide = self.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Tensor shares = new_tensor(self.sizes(), wide, device), drawn = new_tensor(out.sizes(), wide, device);
  cumsum(dense(self, wide), last, std::nullopt, shares);
  const Tensor all = dense(views::slice(shares, last, shares.size(last) - 1, std::nullopt, 1));
  divide(shares, all, shares);
  uniform(drawn, 0, 1, generator);
  table::_search_sorted.find(device)(shares, drawn, {}, true, false, out);
}

// The order of random keys. They have as many bits as make it unlikely (one in ten) that two are equal; those that are
// keep their order.
void randperm(int64_t n, const Tensor& out, Generator* generator) {
  if (n == 0) return;
  const Device device = out.device();
  const double count = double(n);
  const int bits =
      std::min(64, int(std::ceil(std::log2(count - (6 * count * count + 1) / (12 * std::log(0.9))))));
  const bool narrow = bits <= 32;
  const Tensor keys = new_tensor(Dims{n}, narrow ? DType::int32 : DType::int64, device);
  if (narrow) random_from(keys, INT32_MIN, INT32_MAX, generator);
  else random_from(keys, INT64_MIN, INT64_MAX, generator);
  devices::take_numbers(generator, device,
                        4);  // PyTorch has drawn for equal keys too, whether or not there are any
  static Variants variants;
  const Tensor kept = new_tensor(Dims{n}, DType::int64, device),
               sorted = new_tensor(Dims{n}, DType::int64, device),
               order = new_tensor(Dims{n}, DType::int64, device);
  const Scalar mask(bits == (narrow ? 32 : 64) ? int64_t(-1) : (int64_t(1) << bits) - 1);
  run_elementwise(functor_of<kernels::bitwise_and_op>, variants, "randperm", DType::int64, kept, {keys, mask},
                  nullptr);
  table::sort_stable.find(device)(kept, true, 0, false, sorted, order);
  gpu().copy_on_device(order, out);
}

}  // namespace mt::cuda
