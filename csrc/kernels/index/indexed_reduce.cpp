#include "kernels/index/indexed_reduce.h"

#include <limits>
#include <memory>

#include "kernels/common/convert.h"
#include "kernels/common/copy.h"
#include "kernels/common/iterate.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"

namespace mt::kernels {
namespace {

struct NumberElement {
  alignas(16) char bytes[16];
  View view;
  NumberElement(const Scalar& value, DType dtype) : view{bytes, nullptr, nullptr, 0, dtype, 1} {
    store_scalar(value, dtype, bytes);
  }
};

// What a reduction begins with where the old value does not count.
Scalar identity(Meeting meeting, DType dtype) {
  if (meeting == Meeting::product) return Scalar(1);
  if (meeting == Meeting::sum || meeting == Meeting::mean) return Scalar(0);
  const bool lowest = meeting == Meeting::max;
  if (is_floating(dtype))
    return Scalar(lowest ? -std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::infinity());
  Scalar limit(0);
  dispatch<domains::every_ordered>(dtype, "scatter_reduce", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) limit = Scalar(!lowest);
    else if constexpr (std::is_integral_v<T>)
      limit = Scalar(int64_t(lowest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max()));
  });
  return limit;
}

Combine combine_of(Meeting meeting) {
  switch (meeting) {
    case Meeting::product: return Combine::multiply;
    case Meeting::max: return Combine::max;
    case Meeting::min: return Combine::min;
    default: return Combine::add;
  }
}

// Divides the sums by how many values met in each place.
void divide_by_counts(const View& self, const View& table, const Lookup& lookup, bool include_self) {
  MT_CHECK(self.ndim <= kMaxDims, "tensors with more than ", kMaxDims, " dimensions are not supported");
  int64_t strides[kMaxDims], tally_strides[kMaxDims], numel = 1;
  for (int d = self.ndim - 1; d >= 0; --d) {
    strides[d] = numel;
    tally_strides[d] = d == lookup.dim ? 0 : numel;
    numel *= self.sizes[d];
  }
  const std::unique_ptr<int64_t[]> memory(new int64_t[size_t(numel) + 1]);  // narrow types count too few
  const View counts{memory.get(), self.sizes, strides, self.ndim, DType::int64, numel};
  fill(counts, include_self ? 1 : 0);
  const View tally_table{memory.get(), table.sizes, tally_strides, self.ndim, DType::int64};
  Lookup tally = lookup;
  tally.stride = strides[lookup.dim] * int64_t(sizeof(int64_t));
  scatter(tally_table, tally, NumberElement(1, DType::int64).view, Combine::add);
  for (int64_t i = 0; i < numel; ++i)
    if (memory[size_t(i)] == 0) memory[size_t(i)] = 1;  // places that nobody wrote to keep their value
  if (is_integral(self.dtype, true)) binary<floor_divide_op>(self, counts, self, self.dtype);
  else binary<div_op>(self, counts, self, self.dtype);
}

}  // namespace

Meeting meeting_of(std::string_view reduce) {
  if (reduce == "prod" || reduce == "multiply") return Meeting::product;
  if (reduce == "amax") return Meeting::max;
  if (reduce == "amin") return Meeting::min;
  if (reduce == "mean") return Meeting::mean;
  return Meeting::sum;
}

void scatter_reduce(const View& self, const View& table, const Lookup& lookup, const View& source,
                    Meeting meeting, bool include_self) {
  if (!include_self)
    scatter(table, lookup, NumberElement(identity(meeting, self.dtype), self.dtype).view, Combine::write);
  scatter(table, lookup, source, combine_of(meeting));
  if (meeting == Meeting::mean) divide_by_counts(self, table, lookup, include_self);
}

}  // namespace mt::kernels
