// The different elements, or slices, of a tensor. Results have room for all of them and shrink to those found.
#include "kernels/sort/unique.h"

#include "kernels/index/indexed.h"
#include "op_plans.h"
#include "ops/common/late_output.h"
#include "ops/common/lookup.h"
#include "ops/common/temporary.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

View as_view(std::vector<int64_t>& numbers, const int64_t* size, const int64_t* one) {
  return {numbers.data(), size, one, 1, DType::int64};
}

struct Wanted {
  bool inverse, counts, consecutive;
};

// Along `dim`, or (-1) of all elements in row-major order.
void unique(Plan& plan, const aclTensor* self, int dim, const Wanted& wanted, aclTensor* value_out,
            aclTensor* inverse_out, aclTensor* counts_out) {
  const Operand in = plan.input(self, "self");
  const LateOutput values(plan, value_out, "valueOut");
  plan.require_dtype(in, "self", domains::every_ordered);
  plan.require_same_dtype(values.room(), "valueOut", in, "self");
  std::optional<Operand> inverse;
  std::optional<LateOutput> counts;
  if (wanted.inverse) {
    inverse = plan.output(inverse_out, "inverseOut");
    plan.require_dtype(*inverse, "inverseOut", kInt64);
    if (dim < 0) plan.require_same_shape(*inverse, "inverseOut", in, "self");
    else plan.require_shape(*inverse, "inverseOut", {in.sizes[dim]});
  }
  if (wanted.counts) {
    counts.emplace(plan, counts_out, "countsOut");
    plan.require_dtype(counts->room(), "countsOut", kInt64);
  }
  const bool consecutive = wanted.consecutive;
  plan.run([=](const aclOpExecutor& e) {
    // The slices as rows of a dense matrix.
    Operand front = in;
    for (int d = dim; d > 0; --d) front = swapped(front, d, d - 1);
    const ReadAs dense = dense_input(front.view(e));
    const int64_t slices = dim < 0 ? in.numel() : in.sizes[dim], one = 1;
    const int64_t sizes[] = {slices, slices == 0 ? 0 : in.numel() / slices}, strides[] = {sizes[1], 1};
    k::RowGroups groups = k::group_rows({dense.view().data, sizes, strides, 2, in.dtype}, consecutive);

    const int64_t found = int64_t(groups.first.size());
    const View first = as_view(groups.first, &found, &one);
    if (dim < 0) {
      const Operand to = values.found({found});
      const View flat{dense.view().data, &slices, &one, 1, in.dtype};
      const Along along(flat, 0, first, false);
      if (found != 0) k::gather(to.view(e), along.table, along.lookup);
    } else {
      int64_t shape[kMaxDims];
      std::copy(in.sizes, in.sizes + in.ndim, shape);
      shape[dim] = found;
      const Operand to = values.found(shape, in.ndim);
      const View result = to.view(e);
      const Spread spread(first, result, dim);
      const Along along(in.view(e), dim, spread.view, false);
      k::gather(result, along.table, along.lookup);
    }
    if (counts) {
      const Operand to = counts->found({found});
      k::copy(as_view(groups.counts, &found, &one), to.view(e));
    }
    if (inverse) {
      const Operand to = *inverse;
      Operand contiguous = to;
      set_contiguous(contiguous);
      k::copy({groups.inverse.data(), contiguous.sizes, contiguous.strides, contiguous.ndim, DType::int64},
              to.view(e));
    }
  });
}

int slice_dim(const Plan& plan, const aclTensor* self, int64_t dim) {
  if (self == nullptr) return 0;  // refused when it is asked for
  const int64_t count = int64_t(self->sizes.size());
  if (dim < -count || dim >= count)
    plan.invalid("dim ", dim, " is out of range; wanted ", -count, " to ", count - 1);
  return int(dim < 0 ? dim + count : dim);
}

constexpr int64_t kNoDim = 1000;  // how callers say that there is none

}  // namespace

void Unique(Plan& plan, const aclTensor* self, bool, bool returnInverse, aclTensor* valueOut,
            aclTensor* inverseOut) {
  unique(plan, self, -1, {returnInverse, false, false}, valueOut, inverseOut, nullptr);
}
void Unique2(Plan& plan, const aclTensor* self, bool, bool returnInverse, bool returnCounts,
             aclTensor* valueOut, aclTensor* inverseOut, aclTensor* countsOut) {
  unique(plan, self, -1, {returnInverse, returnCounts, false}, valueOut, inverseOut, countsOut);
}
void UniqueDim(Plan& plan, const aclTensor* self, bool, bool returnInverse, int64_t dim, aclTensor* valueOut,
               aclTensor* inverseOut, aclTensor* countsOut) {
  unique(plan, self, slice_dim(plan, self, dim), {returnInverse, true, false}, valueOut, inverseOut,
         countsOut);
}
void UniqueConsecutive(Plan& plan, const aclTensor* self, bool returnInverse, bool returnCounts, int64_t dim,
                       aclTensor* valueOut, aclTensor* inverseOut, aclTensor* countsOut) {
  const int along = dim == kNoDim ? -1 : slice_dim(plan, self, dim);
  unique(plan, self, along, {returnInverse, returnCounts, true}, valueOut, inverseOut, countsOut);
}

}  // namespace softnpu::ops
