#include "kernels/loss/nll.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/common/copy.h"
#include "kernels/common/dense.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"

namespace mt::kernels {
namespace {

constexpr int64_t kPiece = 8192;  // places looked up at a time: each is a cache miss

// Scores [C], [N, C] or [N, C, H, W] with a target for each sample or place.
class Batch {
 public:
  int64_t classes, places;

  Batch(const View& scores, const View& target) : targets_(target) {
    MT_CHECK(scores.ndim == 1 || scores.ndim == 2 || scores.ndim == 4,
             "nll_loss: input tensor should be 1D, 2D or 4D, got ", scores.ndim, "D");
    MT_CHECK(target.dtype == DType::int64, "nll_loss: expected scalar type Long for target but found ",
             info(target.dtype).legacy);
    const int at = scores.ndim == 1 ? 0 : 1;
    classes = scores.sizes[at], class_stride_ = scores.strides[at];
    for (int d = 0, place = 0; d < scores.ndim; ++d)
      if (d != at) sizes_[place] = scores.sizes[d], strides_[place++] = scores.strides[d];
    if (scores.ndim == 2)  // one long row, not a row for each sample
      std::swap(sizes_[0], sizes_[2]), std::swap(strides_[0], strides_[2]);
    places = sizes_[0] * sizes_[1] * sizes_[2];
    MT_CHECK(target.numel() == places, "nll_loss: expected ", places, " targets, got ", target.numel());
  }

  // f(sample, target, place of its score) for those of [begin, end) that count.
  template <class F>
  void for_each(int64_t begin, int64_t end, int64_t ignore_index, const F& f) const {
    int64_t row = begin / std::max<int64_t>(sizes_[2], 1), column = begin - row * sizes_[2];
    for (int64_t sample = begin; sample < end; ++row, column = 0) {
      const int64_t place = row / sizes_[1] * strides_[0] + row % sizes_[1] * strides_[1];
      const int64_t stop = std::min(sizes_[2], column + end - sample);
      for (; column < stop; ++column, ++sample) {
        const int64_t t = targets_[sample];
        if (t == ignore_index) continue;
        MT_CHECK_AS(index, t >= 0 && t < classes, "Target ", t, " is out of bounds.");
        f(sample, t, place + column * strides_[2] + t * class_stride_);
      }
    }
  }

 private:
  DenseInput<int64_t> targets_;
  int64_t class_stride_;
  int64_t sizes_[3] = {1, 1, 1}, strides_[3] = {};  // of samples, rows and columns
};

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
    const bool each = reduction == Reduction::none;
    const DenseOutput<T> losses(out);
    if (each) losses.fill(T(0));
    // double keeps long batches as exact as PyTorch's cascaded float sums. Pieces do not depend on threads.
    std::vector<std::pair<double, double>> pieces(size_t((batch.places + kPiece - 1) / kPiece));
    parallel_for(0, int64_t(pieces.size()), 1, [&](int64_t first, int64_t last) {
      for (int64_t piece = first; piece < last; ++piece) {
        double sum = 0, weights = 0;
        batch.for_each(piece * kPiece, std::min((piece + 1) * kPiece, batch.places), ignore_index,
                       [&](int64_t i, int64_t t, int64_t at) {
                         const double w = weight_of<T>(weight, t);
                         const double loss = -w * double(C(log_probs.as<T>()[at]));
                         sum += loss;
                         weights += w;
                         if (each) losses[i] = cast<T>(C(loss));
                       });
        pieces[size_t(piece)] = {sum, weights};
      }
    });
    double sum = 0, weights = 0;
    for (const auto& [part, part_of_weights] : pieces) sum += part, weights += part_of_weights;
    if (!each) losses[0] = cast<T>(C(reduction == Reduction::mean ? sum / weights : sum));
    losses.store();
    // Of separate losses only a single sample reports its weight; a batch of them has no total.
    *total_weight.as<T>() = cast<T>(C(each && log_probs.ndim > 1 ? 0 : weights));
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
    const DenseInput<T> grads(grad_out);
    const bool each = reduction == Reduction::none;
    const double divisor = reduction == Reduction::mean ? double(C(*total_weight.as<T>())) : 1.0;
    parallel_for(0, batch.places, kPiece, [&](int64_t begin, int64_t end) {
      batch.for_each(begin, end, ignore_index, [&](int64_t i, int64_t t, int64_t at) {
        const double grad = double(C(grads[each ? i : 0]));
        grad_in.as<T>()[at] = cast<T>(C(-weight_of<T>(weight, t) * grad / divisor));
      });
    });
  });
}

}  // namespace mt::kernels
