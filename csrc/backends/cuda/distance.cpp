#include "generated/cuda/distance.h"

#include <cmath>

#include "backends/cuda/dense.h"
#include "backends/cuda/program.h"

namespace mt::cuda {
namespace {

constexpr Family kDistances{"distance.h", "DistanceCall"};

struct Norm {
  int number;
  const char* text;
};
Norm norm_of(double p) {
  if (p == 0) return {0, "Norm::zero"};
  if (p == 1) return {1, "Norm::one"};
  if (p == 2) return {2, "Norm::two"};
  return std::isinf(p) ? Norm{3, "Norm::infinite"} : Norm{4, "Norm::general"};
}

// `kernel` over the elements of out, whose dtype decides.
void run_distance(const char* name, const char* kernel, Variants& variants, DistanceCall call, double p,
                  const Tensor& out) {
  check_dtype(kernels::domains::single_double, out.dtype(), name);
  call.p = p;
  const Norm norm = norm_of(p);
  into_dense(out, [&](const Tensor& made) {
    call.out = made.data();
    run_over(kDistances, variants, uint64_t(out.dtype()) << 3 | uint64_t(norm.number), name, out,
             made.numel(), call,
             [&] { return join_text(kernel, "<", type_text(out.dtype()), ", ", norm.text, ">"); });
  });
}

int64_t batch_of(const Tensor& t) {
  int64_t batch = 1;
  for (int64_t d = 0; d + 2 < t.dim(); ++d) batch *= t.size(d);
  return batch;
}

}  // namespace

void cdist_forward(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t>, const Tensor& out) {
  const Tensor a = dense(x1, out.dtype()), b = dense(x2, out.dtype());
  DistanceCall call{};
  call.x1 = a.data();
  call.x2 = b.data();
  call.batch = batch_of(a);
  call.rows = a.size(-2);
  call.others = b.size(-2);
  call.width = a.size(-1);
  static Variants variants;
  run_distance("cdist", "rows_apart", variants, call, p, out);
}

void cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p, const Tensor& distances,
                    const Tensor& out) {
  const DType dtype = out.dtype();
  const Tensor a = dense(x1, dtype), b = dense(x2, dtype), g = dense(grad, dtype),
               apart = dense(distances, dtype);
  DistanceCall call{};
  call.x1 = a.data();
  call.x2 = b.data();
  call.gradient = g.data();
  call.distances = apart.data();
  call.batch = batch_of(a);
  call.rows = a.size(-2);
  call.others = b.size(-2);
  call.width = a.size(-1);
  static Variants variants;
  run_distance("cdist_backward", "rows_apart_backward", variants, call, p, out);
}

void pdist_forward(const Tensor& self, double p, const Tensor& out) {
  const Tensor x = dense(self, out.dtype());
  DistanceCall call{};
  call.x1 = x.data();
  call.rows = x.size(0);
  call.width = x.size(1);
  static Variants variants;
  run_distance("pdist", "pairs_apart", variants, call, p, out);
}

void pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& distances,
                    const Tensor& out) {
  const DType dtype = out.dtype();
  const Tensor x = dense(self, dtype), g = dense(grad, dtype), apart = dense(distances, dtype);
  DistanceCall call{};
  call.x1 = x.data();
  call.gradient = g.data();
  call.distances = apart.data();
  call.rows = x.size(0);
  call.width = x.size(1);
  static Variants variants;
  run_distance("pdist_backward", "pairs_apart_backward", variants, call, p, out);
}

}  // namespace mt::cuda
