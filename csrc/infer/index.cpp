#include "generated/infer/index.h"

#include "core/determinism.h"
#include "core/warn.h"
#include "infer/indexing.h"
#include "infer/layout.h"

namespace mt::infer {
namespace {

void check_index_type(const Tensor& index, const char* name) {
  MT_CHECK(is_index_type(index.dtype()) || index.numel() == 0, name,
           "(): Expected dtype int32/int64 for index");
}

// The index may be smaller than self, except along dim, where it may have any length.
bool index_fits(IntList index, IntList other, int64_t except) {
  for (size_t d = 0; d < index.size(); ++d)
    if (int64_t(d) != except && index[d] > other[d]) return false;
  return true;
}

void check_scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src,
                   const char* name) {
  const int64_t d = wrap_dim(dim, self.dim());
  check_index_type(index, name);
  check_same_device({&self, &index, src});
  if (src) MT_CHECK(self.dtype() == src->dtype(), name, "(): Expected self.dtype to be equal to src.dtype");
  if (index.numel() == 0) return;
  const Dims own = at_least_1d(self.sizes()), at = at_least_1d(index.sizes());
  MT_CHECK(own.size() == at.size(), "Index tensor must have the same number of dimensions as self tensor");
  if (!src) {
    MT_CHECK(index_fits(at, own, d), "Expected index ", to_string(index.sizes()),
             " to be no larger than self ", to_string(self.sizes()), " apart from dimension ", d);
    return;
  }
  const Dims from = at_least_1d(src->sizes());
  MT_CHECK(from.size() == at.size(), "Index tensor must have the same number of dimensions as src tensor");
  MT_CHECK(index_fits(at, own, d) && index_fits(at, from, -1), "Expected index ", to_string(index.sizes()),
           " to be no larger than self ", to_string(self.sizes()), " apart from dimension ", d,
           " and to be no larger size than src ", to_string(src->sizes()));
}

void like_self(const Tensor& self, Output& out) {
  out.prepare(self.sizes(), self.dtype(), self.device(), &self);
}
// Results of scatter and its kin lie row by row.
void in_rows(const Tensor& self, Output& out) { out.prepare(self.sizes(), self.dtype(), self.device()); }

int64_t size_along(const Tensor& t, int64_t dim) { return t.dim() == 0 ? 1 : t.sizes()[size_t(dim)]; }

// The same shape but for one dimension.
bool slices_match(const Tensor& self, const Tensor& source, int64_t dim) {
  if (self.dim() != source.dim()) return false;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (d != dim && self.sizes()[size_t(d)] != source.sizes()[size_t(d)]) return false;
  return true;
}

// index_add and index_reduce, which share their conditions and wording.
void check_index_source(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                        const char* name) {
  const int64_t d = wrap_dim(dim, self.dim());
  MT_CHECK(is_index_type(index.dtype()), name,
           "(): Expected dtype int32/int64 for index but got: ", info(index.dtype()).legacy);
  MT_CHECK(self.dtype() == source.dtype(), name, "(): self (", info(self.dtype()).legacy, ") and source (",
           info(source.dtype()).legacy, ") must have the same scalar type");
  MT_CHECK_AS(index, index.dim() <= 1, name,
              "(): Index is supposed to be a vector, but got dim: ", index.dim(),
              " with type: ", info(index.dtype()).legacy, " and size: ", to_string(index.sizes()));
  MT_CHECK(source.dim() == 0 || d < source.dim(), name, "(): Indexing dim ", d,
           " is out of bounds of the source tensor with dim ", source.dim());
  check_same_device({&self, &index, &source});
  MT_CHECK(index.numel() == size_along(source, d), name, "(): Number of indices (", index.numel(),
           ") should be equal to source.size(dim): (", size_along(source, d), "), for dim: ", d);
  const bool single = self.dim() == 0 ? source.dim() <= 1 : source.dim() == 0 && self.dim() == 1;
  MT_CHECK(single || slices_match(self, source, d),
           "source tensor shape must match self tensor shape, excluding the specified dimension. Got "
           "self.shape = ",
           to_string(self.sizes()), " source.shape = ", to_string(source.sizes()));
}

}  // namespace

namespace {

// What is read while elements are written one by one must lie elsewhere.
void refuse_overlap(const Tensor& written, const Tensor& read) {
  check_no_partial_overlap(written, read);
  if (written.storage_ref() != read.storage_ref() || !written.numel() || !read.numel()) return;
  if (!written.is_contiguous() || !read.is_contiguous()) return;  // where it would take too long to say
  const auto *a = written.data<char>(), *b = read.data<char>();
  MT_CHECK(
      a >= b + read.nbytes() || b >= a + written.nbytes(),
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
      "memory location. Please clone() the tensor before performing the operation.");
}

// What PyTorch lets pass for the sake of old programs: some elements are written more than once.
void warn_if_expanded(const Tensor& self, const char* name, const char* example) {
  for (size_t d = 0; d < self.sizes().size(); ++d)
    if (self.strides()[d] == 0 && self.sizes()[d] > 1)
      return warn(
          join_text("Use of ", name,
                    " on expanded tensors is deprecated. Please clone() the tensor before performing this "
                    "operation. This also applies to advanced indexing e.g. ",
                    example));
}

}  // namespace

void where(const Tensor& condition, const Tensor& self, const Tensor& other, Output& out) {
  MT_CHECK(condition.dtype() == DType::boolean || condition.dtype() == DType::uint8,
           "where expected condition to be a boolean tensor, but got a tensor with dtype ",
           info(condition.dtype()).legacy);
  check_same_device({&condition, &self, &other});
  const Dims sizes = broadcast(condition.sizes(), broadcast(self.sizes(), other.sizes()));
  prepare_elementwise(out, sizes, result_type(self, other), self.device(), {&condition, &self, &other});
}

void index(const Tensor& self, TensorList indices, Output& out) {
  out.prepare(indexing(self, indices).sizes, self.dtype(), self.device());
}

void index_put(const Tensor& self, TensorList indices, const Tensor& values, bool) {
  warn_if_expanded(self, "index_put_", "tensor[indices] = tensor");
  check_same_device({&self, &values});
  refuse_overlap(self, values);
  for (const Tensor& t : indices)
    if (t.defined()) refuse_overlap(self, t);
  const Dims sizes = indexing(self, indices).sizes;
  const IntList given = values.sizes();
  bool fits = given.size() <= sizes.size();
  for (size_t back = 1; fits && back <= given.size(); ++back) {
    const int64_t size = given[given.size() - back];
    fits = size == 1 || size == sizes[sizes.size() - back];
  }
  MT_CHECK(fits, "shape mismatch: value tensor of shape ", to_string(given),
           " cannot be broadcast to indexing result of shape ", to_string(sizes));
  MT_CHECK(self.dtype() == values.dtype(), "Index put requires the source and destination dtypes match, got ",
           info(self.dtype()).legacy, " for the destination and ", info(values.dtype()).legacy,
           " for the source.");
}

void gather(const Tensor& self, int64_t dim, const Tensor& index, bool, Output& out) {
  const int64_t d = wrap_dim(dim, self.dim());
  check_index_type(index, "gather");
  check_same_device({&self, &index});
  if (index.numel() != 0) {
    const Dims own = at_least_1d(self.sizes()), at = at_least_1d(index.sizes());
    MT_CHECK(own.size() == at.size(), "Index tensor must have the same number of dimensions as input tensor");
    MT_CHECK(
        index_fits(at, own, d), "Size does not match at dimension ",
        [&] {
          size_t k = 0;
          while (k == size_t(d) || at[k] <= own[k]) ++k;
          return k;
        }(),
        " expected index ", to_string(index.sizes()), " to be no larger than self ", to_string(self.sizes()),
        " apart from dimension ", d);
  }
  out.prepare(index.sizes(), self.dtype(), self.device());
}

void scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Output& out) {
  check_scatter(self, dim, index, &src, "scatter");
  in_rows(self, out);
}

void scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar&, Output& out) {
  check_scatter(self, dim, index, nullptr, "scatter");
  in_rows(self, out);
}

void scatter_with(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                  std::string_view reduce, Output& out) {
  MT_CHECK(reduce == "add" || reduce == "multiply", "reduce argument must be either add or multiply.");
  scatter(self, dim, index, src, out);
}

void scatter_value_with(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                        std::string_view reduce, Output& out) {
  MT_CHECK(reduce == "add" || reduce == "multiply", "reduce argument must be either add or multiply.");
  scatter_value(self, dim, index, value, out);
}

void scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                    std::string_view reduce, bool, Output& out) {
  MT_CHECK(reduce == "sum" || reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
           "reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
  scatter(self, dim, index, src, out);
}

void index_select(const Tensor& self, int64_t dim, const Tensor& index, Output& out) {
  const int64_t d = wrap_dim(dim, self.dim());
  MT_CHECK_AS(index, index.dim() <= 1, "index_select(): Index is supposed to be a vector");
  MT_CHECK(is_index_type(index.dtype()), "index_select(): Expected dtype int32 or int64 for index");
  MT_CHECK(self.dim() > 0 || index.numel() == 1,
           "index_select(): Index to scalar can have only 1 value, got ", index.numel(), " value(s)");
  check_same_device({&self, &index});
  Dims sizes(self.sizes());
  MT_CHECK(self.dim() == 0 || sizes[size_t(d)] > 0 || index.numel() == 0,
           "index_select(): self indexing axis dim should be positive");
  if (self.dim() > 0) sizes[size_t(d)] = index.numel();
  out.prepare(sizes, self.dtype(), self.device());
}

void index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
               const Scalar& alpha, Output& out) {
  check_index_source(self, dim, index, source, "index_add_");
  MT_CHECK(is_complex(self.dtype()) || !alpha.is_complex(),
           "For non-complex input tensors, argument alpha must not be a complex number.");
  in_rows(self, out);
}

void index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Output& out) {
  const int64_t d = wrap_dim(dim, self.dim());
  MT_CHECK_AS(index, index.dim() <= 1, "index_copy_(): Index should have dimension 1 or 0 (got ", index.dim(),
              ")");
  MT_CHECK_AS(index, source.dim() != 0 || index.numel() == 1,
              "index_copy_(): When source is scalar, index should have one element (got ", index.numel(),
              ")");
  MT_CHECK_AS(index, source.dim() == 0 || self.dim() == 0 || source.dim() == self.dim(),
              "index_copy_(): When source and destination are not scalars, their dimensionality must match. "
              "Source dimensionality (",
              source.dim(), "), destination dimensionality (", self.dim(), ")");
  MT_CHECK(index.dtype() == DType::int64, "index_copy_(): Expected a long tensor for index, but got ",
           info(index.dtype()).legacy);
  MT_CHECK(self.dtype() == source.dtype(),
           "index_copy_(): self and source expected to have the same dtype, but got (self) ",
           info(self.dtype()).legacy, " and (source) ", info(source.dtype()).legacy);
  check_same_device({&self, &index, &source});
  MT_CHECK(source.dim() == 0 || self.dim() == 0 || slices_match(self, source, d),
           "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: ",
           to_string(self.sizes()), " and source slice shape: ", to_string(source.sizes()),
           " apart from dimension ", d);
  MT_CHECK(source.dim() != 0 || self.dim() <= 1,
           "index_copy_(): a scalar source fits a vector only, got shape ", to_string(self.sizes()));
  MT_CHECK_AS(index, index.numel() == size_along(source, d), "index_copy_(): Number of indices (",
              index.numel(), ") should be equal to source.size(dim) (", size_along(source, d), ")");
  in_rows(self, out);
}

void index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Output& out) {
  MT_CHECK(!value.is_complex() || is_complex(self.dtype()),
           "index_fill_(): Converting complex Scalar to non-complex type is not supported");
  wrap_dim(dim, self.dim());
  MT_CHECK_AS(index, index.dtype() == DType::int64, "index_fill_(): Expected dtype int64 for index.");
  MT_CHECK_AS(index, index.dim() <= 1, "Index has to be a vector/scalar");
  check_same_device({&self, &index});
  if (out.is_inplace()) {
    refuse_overlap(self, index);
    warn_if_expanded(self, "index_fill_", "tensor[mask] = scalar");
    out.allow_overlap();
  }
  like_self(self, out);
}

void index_fill_tensor(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value,
                       Output& out) {
  MT_CHECK(value.dim() == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
           value.dim(), " dimension(s).");
  check_same_device({&self, &value});
  index_fill(self, dim, index, Scalar(), out);
}

void index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                  std::string_view reduce, bool, Output& out) {
  MT_CHECK(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
           "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ", reduce, ".");
  check_index_source(self, dim, index, source, "index_reduce_");
  in_rows(self, out);
}

void take(const Tensor& self, const Tensor& index, Output& out) {
  MT_CHECK(index.dtype() == DType::int64, "take(): Expected a long tensor for index, but got ",
           info(index.dtype()).legacy);
  MT_CHECK_AS(index, self.numel() != 0 || index.numel() == 0, "take(): tried to take from an empty tensor");
  check_same_device({&self, &index});
  out.prepare(index.sizes(), self.dtype(), self.device());
}

void put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate, Output& out) {
  if (!accumulate && !self.device().is_meta()) alert_not_deterministic("put_");
  MT_CHECK(index.dtype() == DType::int64, "put_(): Expected a long tensor for index, but got ",
           info(index.dtype()).legacy);
  MT_CHECK(self.dtype() == source.dtype(),
           "put_(): self and source expected to have the same dtype, but got self.dtype = ",
           info(self.dtype()).legacy, " and source.dtype = ", info(source.dtype()).legacy);
  MT_CHECK_AS(
      index, source.numel() == index.numel(),
      "put_(): Expected source and index to have the same number of elements, but got source.numel() = ",
      source.numel(), ", index.numel() = ", index.numel());
  MT_CHECK_AS(index, self.numel() != 0 || index.numel() == 0,
              "put_(): Tried to put elements into an empty tensor");
  check_same_device({&self, &index, &source});
  like_self(self, out);
}

void nonzero_count(const Tensor& self, Output& out) { out.prepare({}, DType::int64, self.device()); }

void nonzero_static(const Tensor& self, int64_t size, int64_t, Output& out) {
  MT_CHECK(size >= 0, "nonzero_static: 'size' must be an non-negative integer");
  const int64_t sizes[] = {size, self.dim()};
  out.prepare(sizes, DType::int64, self.device());
}

void repeat_runs(const Tensor& repeats, int64_t output_size, Output& out) {
  MT_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  MT_CHECK(is_index_type(repeats.dtype()), "repeats has to be Long or Int tensor");
  MT_CHECK(output_size >= 0, "repeats can not be negative");
  out.prepare(IntList{&output_size, 1}, repeats.dtype(), repeats.device());
}

}  // namespace mt::infer
