// Rules of single operators: reductions, sorting and cumulative operators. Included by infer.h.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

// What an extremum says when there is nothing to take it of, in the name of the operator called.
void check_amax(const Tensor& self, const DimList& dim, bool keepdim);
void check_amin(const Tensor& self, const DimList& dim, bool keepdim);
void check_argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim);
void check_argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim);
void check_max_dim(const Tensor& self, int64_t dim, bool keepdim);
void check_min_dim(const Tensor& self, int64_t dim, bool keepdim);
void check_max_all(const Tensor& self);
void check_min_all(const Tensor& self);
void check_std_mean(const Tensor& self, const DimList& dim, const std::optional<Scalar>& correction,
                    bool keepdim);
void check_nansum(const Tensor& self, const DimList& dim, bool keepdim, std::optional<DType> dtype);

DType real_dtype_of(DType dtype);  // float32 for complex64; the others as they are
void variance(const Tensor& self, const DimList& dim, const std::optional<Scalar>& correction, bool keepdim,
              Output& out);
void variance_and_mean(const Tensor& self, const DimList& dim, const std::optional<Scalar>& correction,
                       bool keepdim, Output& variance, Output& mean);
void logsumexp(const Tensor& self, const DimList& dim, bool keepdim, Output& out);
void cumulative(const Tensor& self, int64_t dim, std::optional<DType> dtype, Output& out);
void cumulative(const Tensor& self, int64_t dim, Output& out);  // keeps the dtype
void vector_norm(const Tensor& self, const Scalar& ord, const DimList& dim, bool keepdim,
                 std::optional<DType> dtype, Output& out);
void hash_tensor(const Tensor& self, const DimList& dim, bool keepdim, int64_t mode, Output& out);

}  // namespace mt::infer
