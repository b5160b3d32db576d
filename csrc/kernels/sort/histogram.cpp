#include "kernels/sort/histogram.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "kernels/common/copy.h"
#include "kernels/common/temporary.h"

namespace mt::kernels {
namespace {

// All elements as numbers of one dtype, one after the other.
Temporary dense_copy(const View& in, DType dtype) {
  Temporary made(in, dtype);
  copy(in, made.view());
  return made;
}

void store(const std::vector<double>& counts, const View& out) {
  const int64_t size = int64_t(counts.size()), stride = 1;
  copy(View{const_cast<double*>(counts.data()), &size, &stride, 1, DType::float64}, out);
}

}  // namespace

void histogram(const View& in, const View& out, double low, double high) {
  MT_CHECK(out.ndim == 1 && out.sizes[0] > 0, "histc: the result must be a vector with at least one bin");
  const Temporary values = dense_copy(in, DType::float64);
  const double *begin = values.view().as<double>(), *end = begin + values.view().dense;
  if (low == high && begin != end) {
    const auto [least, most] = std::minmax_element(begin, end);
    low = *least, high = *most;
  }
  if (low == high) low -= 1, high += 1;
  MT_CHECK(std::isfinite(low) && std::isfinite(high), "histc: range of [", low, ", ", high,
           "] is not finite");
  const int64_t bins = out.sizes[0];
  std::vector<double> counts(size_t(bins), 0.0);
  for (const double* x = begin; x != end; ++x) {
    if (!(*x >= low && *x <= high)) continue;
    const int64_t bin = int64_t((*x - low) * double(bins) / (high - low));
    ++counts[size_t(std::min(bin, bins - 1))];
  }
  store(counts, out);
}

void count_values(const View& in, const View* weights, const View& out) {
  MT_CHECK(in.ndim == 1 && out.ndim == 1, "bincount: the input and the result must be vectors");
  const Temporary values = dense_copy(in, DType::int64),
                  shares = dense_copy(weights ? *weights : in, DType::float64);
  std::vector<double> counts(size_t(out.sizes[0]), 0.0);
  for (int64_t i = 0; i < in.sizes[0]; ++i) {
    const int64_t value = values.view().as<int64_t>()[i];
    MT_CHECK(value >= 0 && value < out.sizes[0], "bincount: value ", value,
             " has no place in a result of size ", out.sizes[0]);
    counts[size_t(value)] += weights ? shares.view().as<double>()[i] : 1.0;
  }
  store(counts, out);
}

}  // namespace mt::kernels
