// Distances between rows in the p-norm. Half types are computed in float.
#include "kernels/distance/distance.h"

#include <cmath>
#include <limits>

#include "op_plans.h"
#include "ops/common/temporary.h"
#include "ops/common/views.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

DType wide(DType dtype) { return dtype == DType::float64 ? dtype : DType::float32; }

// A negative order stands for the largest difference.
double order(const Plan& plan, double p) {
  if (std::isnan(p)) plan.invalid("p is NaN");
  return p < 0 ? std::numeric_limits<double>::infinity() : p;
}

// Leading dimensions joined into one batch; the view is dense.
struct Batch {
  int64_t sizes[3], strides[3];
  View view;
  explicit Batch(const View& dense) {
    sizes[1] = dense.sizes[dense.ndim - 2], sizes[2] = dense.sizes[dense.ndim - 1];
    sizes[0] = 1;
    for (int i = 0; i + 2 < dense.ndim; ++i) sizes[0] *= dense.sizes[i];
    strides[0] = sizes[1] * sizes[2], strides[1] = sizes[2], strides[2] = 1;
    view = {dense.data, sizes, strides, 3, dense.dtype, dense.numel()};
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
};

// Rows [.., n, width] in the batch of `like`, which has two dimensions of its own at the end.
Operand in_batch(const Plan& plan, const Operand& rows, const char* name, const Operand& like) {
  if (rows.ndim < 2 || like.ndim < 2)
    plan.invalid("tensor '", name, "' has shape ", shape_text(rows), ", wanted at least 2 dimensions");
  int64_t sizes[kMaxDims];
  std::copy(like.sizes, like.sizes + like.ndim, sizes);
  sizes[like.ndim - 2] = rows.sizes[rows.ndim - 2], sizes[like.ndim - 1] = rows.sizes[rows.ndim - 1];
  return broadcast_to(plan, rows, name, sizes, like.ndim);
}

void pairs_of(Plan& plan, const aclTensor* self, double p, const aclTensor* out) {
  const Operand rows = plan.input(self, "self"), to = plan.output(out, "out");
  plan.require_dtype(rows, "self", domains::floating);
  plan.require_same_dtype(to, "out", rows, "self");
  plan.require_ndim(rows, "self", 2);
  plan.require_shape(to, "out", {rows.sizes[0] * (rows.sizes[0] - 1) / 2});
  const double norm = order(plan, p);
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs x(rows.view(e), wide(rows.dtype));
    const WriteAs result(to.view(e), wide(rows.dtype));
    k::pdist(x.view(), norm, result.view());
    result.finish();
  });
}

}  // namespace

// compute_mode chooses a faster way to Euclidean distances; the result is the same.
void Cdist(Plan& plan, const aclTensor* x1, const aclTensor* x2, float p, int64_t compute_mode,
           aclTensor* out) {
  const Operand a = plan.input(x1, "x1"), b = plan.input(x2, "x2"), to = plan.output(out, "out");
  if (compute_mode < 0 || compute_mode > 2) plan.invalid("compute_mode is ", compute_mode, ", wanted 0 to 2");
  plan.require_dtype(to, "out", domains::floating);
  plan.require_same_dtype(a, "x1", to, "out");
  plan.require_same_dtype(b, "x2", to, "out");
  const Operand left = in_batch(plan, a, "x1", to), right = in_batch(plan, b, "x2", to);
  const int n = to.ndim;
  if (left.sizes[n - 1] != right.sizes[n - 1] || to.sizes[n - 2] != left.sizes[n - 2] ||
      to.sizes[n - 1] != right.sizes[n - 2])
    plan.invalid("shapes ", shape_text(a), " and ", shape_text(b), " have no distances of shape ",
                 shape_text(to));
  const double norm = order(plan, p);
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs x(left.view(e), wide(to.dtype)), y(right.view(e), wide(to.dtype));
    const WriteAs result(to.view(e), wide(to.dtype));
    k::cdist(Batch(x.view()).view, Batch(y.view()).view, norm, false, Batch(result.view()).view);
    result.finish();
  });
}

void CdistBackward(Plan& plan, const aclTensor* grad, const aclTensor* x1, const aclTensor* x2,
                   const aclTensor* cdist, float p, aclTensor* out) {
  const Operand g = plan.input(grad, "grad"), a = plan.input(x1, "x1"), b = plan.input(x2, "x2"),
                known = plan.input(cdist, "cdist"), to = plan.output(out, "out");
  plan.require_dtype(to, "out", domains::floating);
  plan.require_same_dtype(a, "x1", to, "out");
  plan.require_same_dtype(b, "x2", to, "out");
  plan.require_same_dtype(g, "grad", to, "out");
  plan.require_same_dtype(known, "cdist", to, "out");
  plan.require_same_shape(g, "grad", known, "cdist");
  const Operand left = in_batch(plan, a, "x1", to), right = in_batch(plan, b, "x2", to);
  plan.require_same_shape(left, "x1", to, "out");
  const int n = to.ndim;
  std::vector<int64_t> wanted(to.sizes, to.sizes + n - 1);
  wanted.push_back(right.sizes[n - 2]);
  plan.require_shape(g, "grad", wanted);
  const double norm = order(plan, p);
  plan.run([=](const aclOpExecutor& e) {
    const DType compute = wide(to.dtype);
    const ReadAs slope(g.view(e), compute), x(left.view(e), compute), y(right.view(e), compute),
        distances(known.view(e), compute);
    const WriteAs result(to.view(e), compute);
    k::cdist_backward(Batch(slope.view()).view, Batch(x.view()).view, Batch(y.view()).view, norm,
                      Batch(distances.view()).view, Batch(result.view()).view);
    result.finish();
  });
}

void Pdist(Plan& plan, const aclTensor* self, float p, aclTensor* out) { pairs_of(plan, self, p, out); }
void PdistForward(Plan& plan, const aclTensor* self, const aclScalar* pScalar, aclTensor* out) {
  pairs_of(plan, self, plan.scalar(pScalar, "pScalar").to<double>(), out);
}

}  // namespace softnpu::ops
