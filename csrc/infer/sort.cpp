#include "generated/infer/sort.h"

namespace mt::infer {
namespace {

void check_length(const Tensor& self, int64_t dim, const char* name) {
  MT_CHECK_AS(index, self.dim() == 0 || self.sizes()[size_t(dim)] != 0, name, "(): Expected reduction dim ",
              dim, " to have non-zero size.");
}

void picked(const Tensor& self, int64_t dim, bool keepdim, Output& values, Output& indices) {
  const Dims sizes = reduced_shape(self.sizes(), DimList(dim), keepdim);
  values.prepare(sizes, self.dtype(), self.device());
  indices.prepare(sizes, DType::int64, self.device());
}

}  // namespace

void sort(const Tensor& self, int64_t dim, bool, Output& values, Output& indices) {
  wrap_dim(dim, self.dim());
  MT_CHECK(!is_complex(self.dtype()), " Sort does not support complex dtypes on CPU");
  values.prepare(self.sizes(), self.dtype(), self.device(), &self);
  indices.prepare(self.sizes(), DType::int64, self.device(), &self);
}

void sort_stable(const Tensor& self, std::optional<bool>, int64_t dim, bool descending, Output& values,
                 Output& indices) {
  sort(self, dim, descending, values, indices);
}

void topk(const Tensor& self, int64_t k, int64_t dim, bool, bool, Output& values, Output& indices) {
  const int64_t d = wrap_dim(dim, self.dim());
  MT_CHECK(k >= 0 && k <= (self.dim() ? self.sizes()[size_t(d)] : 1), "selected index k out of range");
  MT_CHECK(!is_complex(self.dtype()), " topk does not support complex dtypes on CPU");
  MT_CHECK(self.dtype() != DType::boolean, "topk does not support bool dtypes on CPU");
  Dims sizes(self.sizes());
  if (!sizes.empty()) sizes[size_t(d)] = k;
  values.prepare(sizes, self.dtype(), self.device());
  indices.prepare(sizes, DType::int64, self.device());
}

void kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim, Output& values, Output& indices) {
  const int64_t d = wrap_dim(dim, self.dim());
  check_length(self, d, "kthvalue");
  MT_CHECK(k >= 1 && k <= (self.dim() ? self.sizes()[size_t(d)] : 1),
           "kthvalue(): selected number k out of range for dimension ", d);
  picked(self, dim, keepdim, values, indices);
}

void median_dim(const Tensor& self, int64_t dim, bool keepdim, Output& values, Output& indices) {
  check_length(self, wrap_dim(dim, self.dim()), "median");
  picked(self, dim, keepdim, values, indices);
}

void mode(const Tensor& self, int64_t dim, bool keepdim, Output& values, Output& indices) {
  check_length(self, wrap_dim(dim, self.dim()), "mode");
  picked(self, dim, keepdim, values, indices);
}

void median(const Tensor& self, Output& out) { out.prepare({}, self.dtype(), self.device()); }

void running_extremum(const Tensor& self, int64_t dim, Output& values, Output& indices) {
  wrap_dim(dim, self.dim());
  values.prepare(self.sizes(), self.dtype(), self.device());
  indices.prepare(self.sizes(), DType::int64, self.device());
}

void row_order(const Tensor& rows, Output& out) {
  MT_CHECK(rows.dim() == 2 && rows.is_contiguous(), "row_order: expected a dense matrix, got shape ",
           to_string(rows.sizes()));
  out.prepare(rows.sizes().subspan(0, 1), DType::int64, rows.device());
}

void search_sorted(const Tensor& boundaries, const Tensor& values, const Tensor& sorter, bool, bool out_int32,
                   Output& out) {
  MT_CHECK(boundaries.is_contiguous() && values.is_contiguous() &&
               (!sorter.defined() || sorter.is_contiguous()) && boundaries.dtype() == values.dtype() &&
               boundaries.dim() > 0,
           "search_sorted: expected dense operands of one dtype");
  const bool same_rows =
      boundaries.dim() == 1 || (boundaries.dim() == values.dim() &&
                                std::ranges::equal(boundaries.sizes().subspan(0, size_t(values.dim() - 1)),
                                                   values.sizes().subspan(0, size_t(values.dim() - 1))));
  MT_CHECK(same_rows,
           "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
           "boundaries tensor and input value tensor must match, but we got boundaries tensor ",
           to_string(boundaries.sizes()), " and input value tensor ", to_string(values.sizes()));
  if (sorter.defined()) {
    MT_CHECK(std::ranges::equal(sorter.sizes(), boundaries.sizes()),
             "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor ",
             to_string(boundaries.sizes()), "and got sorter tensor ", to_string(sorter.sizes()));
    MT_CHECK(sorter.dtype() == DType::int64,
             "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype ",
             info(sorter.dtype()).legacy);
  }
  check_same_device({&boundaries, &values, &sorter});
  out.prepare(values.sizes(), out_int32 ? DType::int32 : DType::int64, values.device());
}

void histogram_counts(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max, Output& out) {
  MT_CHECK(bins > 0, "histc: expected at least one bin, got ", bins);
  MT_CHECK(min.to<double>() < max.to<double>(), "histc: expected min < max, got ", min.to<double>(), " and ",
           max.to<double>());
  out.prepare(IntList{&bins, 1}, self.dtype(), self.device());
}

void value_counts(const Tensor& self, const Tensor& weights, int64_t size, Output& out) {
  MT_CHECK(self.dim() == 1 && is_integral(self.dtype(), false),
           "bincount: expected a vector of integers, got ", info(self.dtype()).legacy, " of shape ",
           to_string(self.sizes()));
  MT_CHECK(!weights.defined() || std::ranges::equal(weights.sizes(), self.sizes()),
           "bincount: expected as many weights as values");
  MT_CHECK(size >= 0, "bincount: expected a size of 0 or more, got ", size);
  check_same_device({&self, &weights});
  const DType sum = !weights.defined()                  ? DType::int64
                    : weights.dtype() == DType::float32 ? DType::float32
                                                        : DType::float64;
  out.prepare(IntList{&size, 1}, sum, self.device());
}

}  // namespace mt::infer
