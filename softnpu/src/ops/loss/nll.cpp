// Negative log likelihood and its gradient.
#include "kernels/loss/nll.h"

#include "kernels/common/copy.h"
#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// Class indices as int64, whichever integer type they came in.
class Targets {
 public:
  Targets(const Operand& target, const aclOpExecutor& e) : view_(target.view(e)) {
    if (target.dtype == DType::int64) return;
    values_.resize(size_t(target.numel()));
    stride_ = 1;
    const View converted{values_.data(), target.sizes, &stride_, target.ndim, DType::int64};
    k::copy(view_, converted);
    view_ = converted;
  }
  const View& view() const { return view_; }

 private:
  View view_;
  std::vector<int64_t> values_;
  int64_t stride_ = 1;
};

// What the loss and its gradient ask of their operands in common.
void require_loss_operands(const Plan& plan, const Operand& log_probs, const Operand& target,
                           const std::optional<Operand>& weight) {
  plan.require_dtype(log_probs, "self", domains::floating);
  plan.require_dtype(target, "target", domains::integral | domains::wide_unsigned);
  if (weight) plan.require_same_dtype(*weight, "weight", log_probs, "self");
  const int n = log_probs.ndim;
  if (n != 1 && n != 2)
    plan.invalid("tensor 'self' has shape ", shape_text(log_probs), ", wanted [N, C] or [C]");
  if (n == 2) plan.require_shape(target, "target", {log_probs.sizes[0]});
  else if (target.numel() != 1 || target.ndim > 1)
    plan.invalid("tensor 'target' has shape ", shape_text(target), ", wanted one element");
  if (weight) plan.require_shape(*weight, "weight", {log_probs.sizes[n - 1]});
}

}  // namespace

void NLLLoss(Plan& plan, const aclTensor* self, const aclTensor* target, const aclTensor* weight,
             int64_t reduction, int64_t ignoreIndex, aclTensor* out, aclTensor* totalWeightOut) {
  const Operand log_probs = plan.input(self, "self"), classes = plan.input(target, "target");
  const std::optional<Operand> weights = plan.optional_input(weight, "weight");
  const Operand to = plan.output(out, "out"), total = plan.output(totalWeightOut, "totalWeightOut");
  const k::Reduction how = reduction_of(plan, reduction);
  require_loss_operands(plan, log_probs, classes, weights);
  plan.require_same_dtype(to, "out", log_probs, "self");
  plan.require_same_dtype(total, "totalWeightOut", log_probs, "self");
  const int64_t wanted = how == k::Reduction::none && log_probs.ndim == 2 ? log_probs.sizes[0] : 1;
  if (to.numel() != wanted)
    plan.invalid("tensor 'out' has shape ", shape_text(to), ", wanted ", wanted, " element(s)");
  if (total.numel() != 1)
    plan.invalid("tensor 'totalWeightOut' has shape ", shape_text(total), ", wanted one element");
  plan.run([=](const aclOpExecutor& e) {
    const Targets targets(classes, e);
    const View w = weights ? weights->view(e) : View{};
    k::nll_loss(log_probs.view(e), targets.view(), weights ? &w : nullptr, to.view(e), total.view(e), how,
                ignoreIndex);
  });
}

void NLLLossBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self, const aclTensor* target,
                     const aclTensor* weight, int64_t reduction, int64_t ignoreIndex,
                     const aclTensor* totalWeight, aclTensor* out) {
  const Operand grad = plan.input(gradOutput, "gradOutput"), log_probs = plan.input(self, "self"),
                classes = plan.input(target, "target");
  const std::optional<Operand> weights = plan.optional_input(weight, "weight");
  const Operand total = plan.input(totalWeight, "totalWeight"), to = plan.output(out, "out");
  const k::Reduction how = reduction_of(plan, reduction);
  require_loss_operands(plan, log_probs, classes, weights);
  plan.require_same_dtype(grad, "gradOutput", log_probs, "self");
  plan.require_same_dtype(total, "totalWeight", log_probs, "self");
  plan.require_same_dtype(to, "out", log_probs, "self");
  plan.require_same_shape(log_probs, "self", to, "out");
  const int64_t wanted = how == k::Reduction::none && log_probs.ndim == 2 ? log_probs.sizes[0] : 1;
  if (grad.numel() != wanted || total.numel() != 1)
    plan.invalid("tensors 'gradOutput' and 'totalWeight' have shapes ", shape_text(grad), " and ",
                 shape_text(total), ", wanted ", wanted, " and 1 element(s)");
  plan.run([=](const aclOpExecutor& e) {
    const Targets targets(classes, e);
    const View w = weights ? weights->view(e) : View{};
    k::nll_loss_backward(grad.view(e), targets.view(), weights ? &w : nullptr, total.view(e), to.view(e), how,
                         ignoreIndex);
  });
}

namespace {

// [N, C, H, W] seen as [N, H, W, C] in dense memory, whose rows are samples.
class PixelRows {
 public:
  PixelRows(const Operand& scores, const aclOpExecutor& e, k::Access access)
      : turned_(permuted(scores, {0, 2, 3, 1})), dense_(turned_.view(e), scores.dtype, access) {
    sizes_[0] = turned_.sizes[0] * turned_.sizes[1] * turned_.sizes[2], sizes_[1] = turned_.sizes[3];
    strides_[0] = turned_.sizes[3], strides_[1] = 1;
  }
  PixelRows(const PixelRows&) = delete;
  PixelRows& operator=(const PixelRows&) = delete;
  View view() const { return {dense_.view().data, sizes_, strides_, 2, dense_.view().dtype}; }
  void store() const { dense_.store(); }

 private:
  Operand turned_;
  k::Dense dense_;
  int64_t sizes_[2], strides_[2];
};

// One number for each pixel, in a row.
class PixelList {
 public:
  PixelList(const Operand& pixels, const aclOpExecutor& e, DType dtype, k::Access access)
      : dense_(pixels.view(e), dtype, access), size_(dense_.numel()) {}
  PixelList(const PixelList&) = delete;
  PixelList& operator=(const PixelList&) = delete;
  View view() const { return {dense_.view().data, &size_, &stride_, 1, dense_.view().dtype}; }
  void store() const { dense_.store(); }

 private:
  k::Dense dense_;
  int64_t size_, stride_ = 1;
};

void require_pixel_loss(const Plan& plan, const Operand& log_probs, const Operand& target,
                        const std::optional<Operand>& weight, const Operand& loss, const char* loss_name,
                        k::Reduction how, const Operand& total) {
  plan.require_ndim(log_probs, "self", 4);
  plan.require_dtype(log_probs, "self", domains::floating);
  plan.require_dtype(target, "target", domains::integral);
  plan.require_shape(target, "target", {log_probs.sizes[0], log_probs.sizes[2], log_probs.sizes[3]});
  if (weight) plan.require_same_dtype(*weight, "weight", log_probs, "self");
  if (weight) plan.require_shape(*weight, "weight", {log_probs.sizes[1]});
  plan.require_same_dtype(loss, loss_name, log_probs, "self");
  plan.require_same_dtype(total, "totalWeight", log_probs, "self");
  if (how == k::Reduction::none) plan.require_same_shape(loss, loss_name, target, "target");
  else if (loss.numel() != 1)
    plan.invalid("tensor '", loss_name, "' has shape ", shape_text(loss), ", wanted one element");
  if (total.numel() != 1)
    plan.invalid("tensor 'totalWeight' has shape ", shape_text(total), ", wanted one element");
}

}  // namespace

void NLLLoss2d(Plan& plan, const aclTensor* self, const aclTensor* target, const aclTensor* weight,
               int64_t reduction, int64_t ignoreIndex, aclTensor* out, aclTensor* totalWeightOut) {
  const Operand log_probs = plan.input(self, "self"), classes = plan.input(target, "target");
  const std::optional<Operand> weights = plan.optional_input(weight, "weight");
  const Operand to = plan.output(out, "out"), total = plan.output(totalWeightOut, "totalWeightOut");
  const k::Reduction how = reduction_of(plan, reduction);
  require_pixel_loss(plan, log_probs, classes, weights, to, "out", how, total);
  plan.run([=](const aclOpExecutor& e) {
    const PixelRows rows(log_probs, e, k::Access::read);
    const PixelList named(classes, e, DType::int64, k::Access::read),
        losses(to, e, to.dtype, k::Access::write);
    const OptionalView w(weights, e);
    k::nll_loss(rows.view(), named.view(), w.get(), losses.view(), total.view(e), how, ignoreIndex);
    losses.store();
  });
}

void NLLLoss2dBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,
                       const aclTensor* target, const aclTensor* weight, int64_t reduction,
                       int64_t ignoreIndex, aclTensor* totalWeight, aclTensor* out) {
  const Operand grad = plan.input(gradOutput, "gradOutput"), log_probs = plan.input(self, "self"),
                classes = plan.input(target, "target");
  const std::optional<Operand> weights = plan.optional_input(weight, "weight");
  const Operand total = plan.input(totalWeight, "totalWeight"), to = plan.output(out, "out");
  const k::Reduction how = reduction_of(plan, reduction);
  require_pixel_loss(plan, log_probs, classes, weights, grad, "gradOutput", how, total);
  plan.require_same_shape(log_probs, "self", to, "out");
  plan.require_same_dtype(to, "out", log_probs, "self");
  plan.run([=](const aclOpExecutor& e) {
    const PixelRows rows(to, e, k::Access::write);
    const PixelList named(classes, e, DType::int64, k::Access::read),
        grads(grad, e, grad.dtype, k::Access::read);
    const OptionalView w(weights, e);
    k::nll_loss_backward(grads.view(), named.view(), w.get(), total.view(e), rows.view(), how, ignoreIndex);
    rows.store();
  });
}

}  // namespace softnpu::ops
