// Random tensors in terms of the fills.
#include "generated/ops/composites/random.h"

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/creation.h"
#include "generated/ops/random.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"
#include "infer/infer.h"

namespace mt::composites {
namespace {

void check_std(const Tensor& std) {
  MT_CHECK(!is_complex(std.dtype()), "normal expects standard deviation to be non-complex");
  if (std.device().is_meta() || std.numel() == 0) return;
  MT_CHECK(item(ops::all(ops::ge(std, 0), DimList(), false)).to<bool>(),
           "normal expects all elements of std >= 0.0");
}

}  // namespace

Tensor normal(const Tensor& mean, double std, Generator* generator) {
  Tensor out = ops::empty_like(mean, std::nullopt);
  ops::normal_(out, 0, std, generator);
  ops::add_(out, ops::detach(mean));
  return out;
}

Tensor normal(double mean, const Tensor& std, Generator* generator) {
  check_std(std);
  Tensor out = ops::empty_like(std, std::nullopt);
  ops::normal_(out, 0, 1, generator);
  ops::add_(ops::mul_(out, ops::detach(std)), mean);
  return out;
}

Tensor normal(const Tensor& mean, const Tensor& std, Generator* generator) {
  check_std(std);
  Tensor out = new_tensor(infer::broadcast(mean.sizes(), std.sizes()), mean.dtype(), mean.device());
  ops::normal_(out, 0, 1, generator);
  ops::add_(ops::mul_(out, ops::detach(std)), ops::detach(mean));
  return out;
}

Tensor normal(double mean, double std, IntList size, Generator* generator, const TensorOptions& options) {
  Tensor out = ops::empty(size, std::nullopt, options);
  ops::normal_(out, mean, std, generator);
  return out;
}

Tensor randperm(int64_t n, Generator* generator, const TensorOptions& options) {
  MT_CHECK(n >= 0, "n must be non-negative, got", n);
  TensorOptions made = options;
  made.dtype = options.dtype.value_or(DType::int64);
  Tensor out = ops::empty(IntList(&n, 1), std::nullopt, made);
  ops::_randperm(n, out, generator);
  return out;
}

}  // namespace mt::composites
