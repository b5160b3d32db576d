#include "generated/cpu/normalization.h"

#include "backends/cpu/optional_view.h"
#include "kernels/normalization/normalization.h"

namespace mt::cpu {
namespace {

// In its own memory or a dense copy.
OptionalView dense_view(const Tensor& t) { return OptionalView(t.defined() ? dense(t) : t); }

}  // namespace

void layer_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight, const Tensor& bias,
                double eps, const Tensor& out, const Tensor& mean, const Tensor& rstd) {
  const Tensor x = dense(input);
  const OptionalView w = dense_view(weight), b = dense_view(bias);
  kernels::layer_norm(view(x), w.get(), b.get(), view(out), view(mean), view(rstd), mean.numel(),
                      checked_numel(normalized_shape), eps);
}

void layer_norm_backward(const Tensor& grad, const Tensor& input, IntList normalized_shape,
                         const Tensor& mean, const Tensor& rstd, const Tensor& weight, int64_t needs,
                         const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias) {
  const Tensor g = dense(grad), x = dense(input), center = dense(mean), scale = dense(rstd);
  const OptionalView w = dense_view(weight), dx(grad_input, needs & 1), dw(grad_weight, needs & 2),
                     db(grad_bias, needs & 4);
  kernels::layer_norm_backward(view(g), view(x), view(center), view(scale), w.get(), dx.get(), dw.get(),
                               db.get(), mean.numel(), checked_numel(normalized_shape));
}

void group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t n, int64_t c,
                int64_t hxw, int64_t group, double eps, const Tensor& out, const Tensor& mean,
                const Tensor& rstd) {
  const Tensor x = dense(input);
  const OptionalView w(weight), b(bias), means(mean), rstds(rstd);
  into_dense(out, [&](const Tensor& y) {
    kernels::group_norm(view(x), w.get(), b.get(), {n, c, hxw, group}, eps, view(y), means.get(),
                        rstds.get());
  });
}

void group_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight, int64_t n, int64_t c, int64_t hxw, int64_t group,
                         int64_t needs, const Tensor& grad_input, const Tensor& grad_weight,
                         const Tensor& grad_bias) {
  const Tensor dy = dense(grad), x = dense(input);
  into_dense(grad_input, [&](const Tensor& made) {
    const OptionalView w(weight), dx(made, needs & 1), dw(grad_weight, needs & 2), db(grad_bias, needs & 4);
    kernels::group_norm_backward(view(dy), view(x), view(mean), view(rstd), w.get(), {n, c, hxw, group},
                                 dx.get(), dw.get(), db.get());
  });
}

void batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                const Tensor& running_var, bool training, double momentum, double eps, const Tensor& out,
                const Tensor& save_mean, const Tensor& save_invstd) {
  const OptionalView w(weight), b(bias), mean(running_mean), var(running_var), saved_mean(save_mean),
      saved_invstd(save_invstd);
  kernels::batch_norm(view(input), w.get(), b.get(), mean.get(), var.get(), {training, momentum, eps},
                      view(out), saved_mean.get(), saved_invstd.get());
}

void batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                         const Tensor& running_mean, const Tensor& running_var, const Tensor& save_mean,
                         const Tensor& save_invstd, bool training, double eps, int64_t needs,
                         const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias) {
  const OptionalView w(weight), dx(grad_input, needs & 1), dw(grad_weight, needs & 2),
      db(grad_bias, needs & 4);
  kernels::batch_norm_backward(view(grad), view(input), w.get(), view(training ? save_mean : running_mean),
                               view(training ? save_invstd : running_var), {training, 0, eps}, dx.get(),
                               dw.get(), db.get());
}

}  // namespace mt::cpu
