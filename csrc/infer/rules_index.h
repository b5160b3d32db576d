// Rules of single operators: indexing, gathering and scattering. Included by infer.h.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

// What indexing with several tensors gives. If the indexed dimensions lie next to each other, the dimensions of the
// broadcast indices take their place; if not, they come first.
struct Indexing {
  Dims sizes;          // of the result
  Dims table_strides;  // of the indexed tensor in that shape: 0 along the indices' dimensions
  Dims index_sizes;    // of the broadcast indices
  size_t first = 0;    // where those begin in `sizes`
  Dims dims;           // the indexed dimensions
};
Indexing indexing(const Tensor& self, TensorList indices);
// A shape with at least one dimension.
inline Dims at_least_1d(IntList sizes) { return sizes.empty() ? Dims{1} : Dims(sizes); }

void index(const Tensor& self, TensorList indices, Output& out);
void index_put(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate);
void gather(const Tensor& self, int64_t dim, const Tensor& index, bool sparse_grad, Output& out);
void scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Output& out);
void scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Output& out);
void scatter_with(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                  std::string_view reduce, Output& out);
void scatter_value_with(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                        std::string_view reduce, Output& out);
void scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                    std::string_view reduce, bool include_self, Output& out);
void index_select(const Tensor& self, int64_t dim, const Tensor& index, Output& out);
void index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
               const Scalar& alpha, Output& out);
void index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Output& out);
void index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Output& out);
void index_fill_tensor(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value,
                       Output& out);
void index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                  std::string_view reduce, bool include_self, Output& out);
void take(const Tensor& self, const Tensor& index, Output& out);
void put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate, Output& out);
void nonzero_count(const Tensor& self, Output& out);
void nonzero_static(const Tensor& self, int64_t size, int64_t fill_value, Output& out);
void repeat_runs(const Tensor& repeats, int64_t output_size, Output& out);
void embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx, bool scale_grad_by_freq,
               bool sparse, Output& out);

// ---- order along a dimension (rules_sort.cpp) ----
void sort(const Tensor& self, int64_t dim, bool descending, Output& values, Output& indices);
void sort_stable(const Tensor& self, std::optional<bool> stable, int64_t dim, bool descending, Output& values,
                 Output& indices);
void topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted, Output& values,
          Output& indices);
void kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim, Output& values, Output& indices);
void median_dim(const Tensor& self, int64_t dim, bool keepdim, Output& values, Output& indices);
void mode(const Tensor& self, int64_t dim, bool keepdim, Output& values, Output& indices);
void median(const Tensor& self, Output& out);
void running_extremum(const Tensor& self, int64_t dim, Output& values, Output& indices);
void row_order(const Tensor& rows, Output& out);
void search_sorted(const Tensor& boundaries, const Tensor& values, const Tensor& sorter, bool right,
                   bool out_int32, Output& out);

}  // namespace mt::infer
