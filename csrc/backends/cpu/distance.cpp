#include "generated/cpu/distance.h"

#include "backends/cpu/kernel_view.h"
#include "core/views.h"
#include "kernels/distance/distance.h"

namespace mt::cpu {
namespace {

// Leading dimensions joined into one batch.
Tensor batched(const Tensor& t) {
  const Tensor d = dense(t);
  int64_t batch = 1;
  for (int64_t i = 0; i + 2 < d.dim(); ++i) batch *= d.sizes()[size_t(i)];
  return views::view(d, Dims{batch, d.size(-2), d.size(-1)});
}

}  // namespace

void cdist_forward(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> mode,
                   const Tensor& out) {
  const int64_t chosen = mode.value_or(0);
  const bool by_product = chosen == 1 || (chosen == 0 && kernels::are_many_points(x1.size(-2), x2.size(-2)));
  into_dense(out, [&](const Tensor& result) {
    kernels::cdist(view(batched(x1)), view(batched(x2)), p, by_product, view(batched(result)));
  });
}

void cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p, const Tensor& distances,
                    const Tensor& out) {
  into_dense(out, [&](const Tensor& result) {
    kernels::cdist_backward(view(batched(grad)), view(batched(x1)), view(batched(x2)), p,
                            view(batched(distances)), view(batched(result)));
  });
}

void pdist_forward(const Tensor& self, double p, const Tensor& out) {
  into_dense(out, [&](const Tensor& result) { kernels::pdist(view(dense(self)), p, view(result)); });
}

void pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& distances,
                    const Tensor& out) {
  into_dense(out, [&](const Tensor& result) {
    kernels::pdist_backward(view(dense(grad)), view(dense(self)), p, view(dense(distances)), view(result));
  });
}

}  // namespace mt::cpu
