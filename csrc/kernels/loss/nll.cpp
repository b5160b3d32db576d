#include "kernels/loss/nll.h"

#include "kernels/common/copy.h"
#include "kernels/common/types.h"

namespace mt::kernels {
namespace {

// [C] is treated as a batch of one.
struct Batch {
  int64_t samples, classes, sample_stride, class_stride, target_stride;
  Batch(const View& scores, const View& target) {
    MT_CHECK(scores.ndim == 1 || scores.ndim == 2, "nll_loss: input tensor should be 1D or 2D, got ",
             scores.ndim, "D");
    MT_CHECK(target.dtype == DType::int64, "nll_loss: expected scalar type Long for target but found ",
             info(target.dtype).legacy);
    const bool batched = scores.ndim == 2;
    samples = batched ? scores.sizes[0] : 1;
    classes = scores.sizes[scores.ndim - 1];
    sample_stride = batched ? scores.strides[0] : 0;
    class_stride = scores.strides[scores.ndim - 1];
    target_stride = target.ndim ? target.strides[0] : 0;
    MT_CHECK(target.numel() == samples, "nll_loss: expected ", samples, " targets, got ", target.numel());
  }
};

int64_t checked_target(const View& target, const Batch& batch, int64_t i) {
  const int64_t t = target.as<int64_t>()[i * batch.target_stride];
  MT_CHECK_AS(index, t >= 0 && t < batch.classes, "Target ", t, " is out of bounds.");
  return t;
}

template <class T>
double weight_of(const View* weight, int64_t index) {
  return weight ? double(compute_t<T>(weight->as<T>()[index * weight->strides[0]])) : 1.0;
}

void check_weight(const View* weight, const Batch& batch, DType dtype) {
  if (!weight) return;
  MT_CHECK(weight->ndim == 1 && weight->sizes[0] == batch.classes,
           "weight tensor should be defined either for all ", batch.classes, " classes or no classes, got ",
           weight->numel(), " elements");
  MT_CHECK(weight->dtype == dtype, "expected scalar type ", info(dtype).legacy, " but found ",
           info(weight->dtype).legacy, " for argument 'weight'");
}

}  // namespace

void nll_loss(const View& log_probs, const View& target, const View* weight, const View& out,
              const View& total_weight, Reduction reduction, int64_t ignore_index) {
  const Batch batch(log_probs, target);
  check_weight(weight, batch, log_probs.dtype);
  MT_CHECK(out.dtype == log_probs.dtype && total_weight.dtype == log_probs.dtype,
           "nll_loss: results must have the input's dtype ", info(log_probs.dtype).name);
  dispatch<domains::floating>(log_probs.dtype, "nll_loss_out_frame", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = compute_t<T>;
    const int64_t out_stride = out.ndim ? out.strides[0] : 0;
    double sum = 0, weights = 0;  // double keeps long batches as exact as PyTorch's cascaded float sums
    for (int64_t i = 0; i < batch.samples; ++i) {
      double loss = 0;
      if (target.as<int64_t>()[i * batch.target_stride] != ignore_index) {
        const int64_t t = checked_target(target, batch, i);
        const double w = weight_of<T>(weight, t);
        loss = -w * double(C(log_probs.as<T>()[i * batch.sample_stride + t * batch.class_stride]));
        sum += loss;
        weights += w;
      }
      if (reduction == Reduction::none) out.as<T>()[i * out_stride] = cast<T>(C(loss));
    }
    if (reduction == Reduction::none) {
      // Only a single sample reports its weight; a batch of separate losses has no total.
      *total_weight.as<T>() = cast<T>(C(log_probs.ndim == 1 ? weights : 0));
      return;
    }
    *out.as<T>() = cast<T>(C(reduction == Reduction::mean ? sum / weights : sum));
    *total_weight.as<T>() = cast<T>(C(weights));
  });
}

void nll_loss_backward(const View& grad_out, const View& target, const View* weight, const View& total_weight,
                       const View& grad_in, Reduction reduction, int64_t ignore_index) {
  const Batch batch(grad_in, target);
  check_weight(weight, batch, grad_in.dtype);
  MT_CHECK(grad_out.dtype == grad_in.dtype && total_weight.dtype == grad_in.dtype,
           "nll_loss_backward: gradients must have one dtype, got ", info(grad_out.dtype).name, " for ",
           info(grad_in.dtype).name);
  fill(grad_in, Scalar(0.0));
  dispatch<domains::floating>(grad_in.dtype, "nll_loss_backward_out_frame", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = compute_t<T>;
    const bool per_sample = reduction == Reduction::none;
    const int64_t grad_stride = per_sample && grad_out.ndim ? grad_out.strides[0] : 0;
    const double divisor = reduction == Reduction::mean ? double(C(*total_weight.as<T>())) : 1.0;
    for (int64_t i = 0; i < batch.samples; ++i) {
      if (target.as<int64_t>()[i * batch.target_stride] == ignore_index) continue;
      const int64_t t = checked_target(target, batch, i);
      const double grad = double(C(grad_out.as<T>()[i * grad_stride]));
      grad_in.as<T>()[i * batch.sample_stride + t * batch.class_stride] =
          cast<T>(C(-weight_of<T>(weight, t) * grad / divisor));
    }
  });
}

}  // namespace mt::kernels
