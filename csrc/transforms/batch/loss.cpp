#include "generated/batch/loss.h"

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/loss.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"
#include "infer/infer.h"

namespace mt::batch {
namespace {

constexpr int64_t kNone = 0, kMean = 1;

// Losses of samples, one after the other: a slice of one sample has no dimension for them.
Tensor samples(const Call& call, size_t i, int64_t rank_of_one) {
  const Tensor batch = call.batch(i);
  return call.rank(i) == rank_of_one ? batch : folded(batch);
}

// The weight that each target has, 0 where it is ignored; in the shape of the batch of targets.
Tensor weights(const Call& call, size_t target_at, size_t weight_at, DType dtype, int64_t ignored) {
  const Tensor target = call.batch(target_at), counted = ops::ne(target, Scalar(ignored));
  if (!call.given(weight_at).defined()) return ops::_to_copy(counted, dtype);
  const Tensor rows =
      ops::where(counted, target, Scalar(0)).reshape(Dims{call.size, call.given(target_at).numel()});
  const Tensor each = ops::gather(call.batch(weight_at), 1, rows).reshape(target.sizes());
  return ops::mul(each, ops::_to_copy(counted, each.dtype()));
}

Tensor sum_of_slices(const Tensor& batch) {
  Dims dims;
  for (int64_t d = 1; d < batch.dim(); ++d) dims.push_back(d);
  return dims.empty() ? batch : ops::sum(batch, DimList(dims), false, std::nullopt);
}

Tensor as_slices(const Call& call, const Tensor& t, size_t like) {
  return t.reshape(with_batch(call.size, call.given(like).sizes()));
}

}  // namespace

// (self, target, weight, reduction, ignore_index) -> (loss, total weight)
Values nll_loss(Call& call) {
  const Tensor self = samples(call, 0, 1), target = samples(call, 1, 0);
  const int64_t reduction = std::get<int64_t>(call.arguments[3]);
  const int64_t ignored = std::get<int64_t>(call.arguments[4]);
  const auto loss = self.dim() == 4 ? ops::nll_loss2d_forward : ops::nll_loss_forward;
  const auto losses = loss(self, target, Tensor(), kNone, ignored);
  Tensor each = as_slices(call, std::get<0>(losses), 1);
  const bool weighted = call.given(2).defined();
  const Tensor own = weighted || reduction != kNone ? weights(call, 1, 2, self.dtype(), ignored) : Tensor();
  if (weighted) each = ops::mul(each, own);
  if (reduction == kNone) return {each, ops::new_zeros(self, Dims{call.size})};
  const Tensor total = sum_of_slices(own), sum = sum_of_slices(each);
  return {reduction == kMean ? ops::div(sum, total) : sum, total};
}

// (grad_output, self, target, weight, reduction, ignore_index, total_weight)
Values nll_loss_backward(Call& call) {
  const Tensor self = samples(call, 1, 1), target = samples(call, 2, 0);
  const int64_t reduction = std::get<int64_t>(call.arguments[4]);
  const int64_t ignored = std::get<int64_t>(call.arguments[5]);
  Tensor grad = call.batch(0);
  if (reduction == kMean) grad = ops::div(grad, call.batch(6));
  if (reduction != kNone)
    grad = ops::expand(with_rank(grad, call.rank(2)), with_batch(call.size, call.given(2).sizes()));
  if (call.given(3).defined()) grad = ops::mul(grad, weights(call, 2, 3, self.dtype(), ignored));
  const Tensor rows = call.rank(2) == 0 ? grad : folded(grad);
  const auto backward = self.dim() == 4 ? ops::nll_loss2d_backward : ops::nll_loss_backward;
  const Tensor made = backward(ops::contiguous(rows, MemoryFormat::contiguous), self, target, Tensor(), kNone,
                               ignored, ops::new_zeros(self, {}));
  return {made.reshape(with_batch(call.size, call.given(1).sizes()))};
}

namespace {

// The tensors of a call, from `first` on, aligned behind the batch dimension; then comes the reduction, which is none.
// Returns what it was.
int64_t align_tensors(const Call& call, Values& values, int64_t rank) {
  size_t i = 0;
  for (; call.role(i) == 't'; ++i)
    if (call.given(i).defined()) values[i] = with_rank(call.batch(i), rank);
  const int64_t reduction = std::get<int64_t>(values[i]);
  values[i] = kNone;
  return reduction;
}

}  // namespace

// (self, target, maybe weight, reduction, …)
Values pointwise_loss(Call& call) {
  Values values(call.arguments);
  const int64_t reduction = align_tensors(call, values, std::max(call.rank(0), call.rank(1)));
  const Tensor each = std::get<Tensor>(call.run(std::move(values))[0]);
  if (reduction == kNone) return {each};
  const Tensor sum = sum_of_slices(each);
  if (reduction != kMean) return {sum};
  return {ops::div(sum, Scalar(double(each.numel()) / double(call.size)))};
}

// (grad_output, self, target, maybe weight, reduction, …)
Values pointwise_loss_backward(Call& call) {
  Values values(call.arguments);
  const int64_t reduction = align_tensors(call, values, std::max(call.rank(1), call.rank(2)));
  if (reduction == kMean) {
    int64_t count = 1;
    for (const int64_t size : infer::broadcast(call.given(1).sizes(), call.given(2).sizes())) count *= size;
    values[0] = ops::div(std::get<Tensor>(values[0]), Scalar(double(count)));
  }
  return call.run(std::move(values));
}

}  // namespace mt::batch
