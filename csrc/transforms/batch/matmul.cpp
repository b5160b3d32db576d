#include "generated/batch/matmul.h"

#include "generated/ops/copy.h"
#include "generated/ops/matmul.h"
#include "generated/ops/view.h"

namespace mt::batch {
namespace {

void check_matrix(const Call& call, size_t i, const char* name) {
  MT_CHECK(call.rank(i) == 2, name, " must be a matrix");
}

Tensor as_rows(const Tensor& batch) { return folded(batch); }

// Rows of all slices, as many in each as the matrix there has.
Tensor of_slices(const Call& call, const Tensor& rows, size_t matrix) {
  return ops::view(rows, Dims{call.size, call.given(matrix).sizes()[0], rows.sizes()[1]});
}

Values finished(const Call& call, const Tensor& result) {
  if (call.rule.written >= 0) ops::copy_(call.value(0), result, false);
  return {result};
}

}  // namespace

// A matrix that all slices share is multiplied with their rows at once.
Values mm(Call& call) {
  check_matrix(call, 0, "self");
  check_matrix(call, 1, "mat2");
  if (!call.batched(1)) return {of_slices(call, ops::mm(as_rows(call.value(0)), call.value(1)), 0)};
  return {ops::bmm(call.batch(0), call.batch(1))};
}

Values addmm(Call& call) {
  check_matrix(call, 1, "mat1");
  check_matrix(call, 2, "mat2");
  const Scalar beta = Unboxed<const Scalar&>::from(call.arguments[3]);
  const Scalar alpha = Unboxed<const Scalar&>::from(call.arguments[4]);
  const bool added_to_each_row = !call.batched(0) && (call.rank(0) < 2 || call.given(0).sizes()[0] == 1);
  if (call.batched(1) && !call.batched(2) && added_to_each_row) {
    const Tensor rows = ops::addmm(call.value(0), as_rows(call.value(1)), call.value(2), beta, alpha);
    return finished(call, of_slices(call, rows, 1));
  }
  const int64_t n = call.given(1).sizes()[0], m = call.given(2).sizes()[1];
  const Tensor added = ops::expand(with_rank(call.batch(0), 2), Dims{call.size, n, m});
  return finished(call, ops::baddbmm(added, call.batch(1), call.batch(2), beta, alpha));
}

Values bmm(Call& call) {
  MT_CHECK(call.rank(0) == 3, "batch1 must be a 3D tensor");
  MT_CHECK(call.rank(1) == 3, "batch2 must be a 3D tensor");
  return fold(call);
}

Values baddbmm(Call& call) {
  MT_CHECK(call.rank(1) == 3, "batch1 must be a 3D tensor");
  MT_CHECK(call.rank(2) == 3, "batch2 must be a 3D tensor");
  const int64_t b = call.given(1).sizes()[0], n = call.given(1).sizes()[1], m = call.given(2).sizes()[2];
  const Tensor added = ops::expand(with_rank(call.batch(0), 3), Dims{call.size, b, n, m});
  const Tensor result = ops::baddbmm(folded(added), folded(call.batch(1)), folded(call.batch(2)),
                                     Unboxed<const Scalar&>::from(call.arguments[3]),
                                     Unboxed<const Scalar&>::from(call.arguments[4]));
  return finished(call, result.reshape(Dims{call.size, b, n, m}));
}

}  // namespace mt::batch
