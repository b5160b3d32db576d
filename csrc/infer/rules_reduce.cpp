#include <cmath>

#include "infer/infer.h"

namespace mt::infer {
namespace {

void check_extremum(const char* name, const Tensor& self, const DimList& dim) {
  if (self.numel() != 0) [[likely]]
    return;
  MT_CHECK(
      !dim.all(), name,
      "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
      "'dim' argument.");
  const uint64_t mask = dim_mask(dim, self.dim());
  for (int64_t d = 0; d < self.dim(); ++d)
    MT_CHECK_AS(index, !(mask >> d & 1) || self.sizes()[size_t(d)] != 0, name, "(): Expected reduction dim ",
                d, " to have non-zero size.");
}

void check_position(const char* name, const Tensor& self, std::optional<int64_t> dim) {
  MT_CHECK(self.dtype() != DType::boolean, name, "(): does not support bool input");
  if (dim) return check_extremum(name, self, DimList(*dim));
  MT_CHECK_AS(index, self.numel() != 0, name,
              "(): Expected reduction dim to be specified for input.numel() == 0.");
}

void check_deviation(const char* name, const Tensor& self) {
  MT_CHECK(is_differentiable(self.dtype()), name, " only support floating point and complex dtypes");
}

std::string ord_text(const Scalar& ord) {
  const double value = ord.to<double>();
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return join_text(value);
}

}  // namespace

void check_amax(const Tensor& self, const DimList& dim, bool) { check_extremum("amax", self, dim); }
void check_amin(const Tensor& self, const DimList& dim, bool) { check_extremum("amin", self, dim); }
void check_argmax(const Tensor& self, std::optional<int64_t> dim, bool) {
  check_position("argmax", self, dim);
}
void check_argmin(const Tensor& self, std::optional<int64_t> dim, bool) {
  check_position("argmin", self, dim);
}
void check_max_dim(const Tensor& self, int64_t dim, bool) { check_extremum("max", self, DimList(dim)); }
void check_min_dim(const Tensor& self, int64_t dim, bool) { check_extremum("min", self, DimList(dim)); }
void check_max_all(const Tensor& self) { check_extremum("max", self, DimList()); }
void check_min_all(const Tensor& self) { check_extremum("min", self, DimList()); }
void check_std_mean(const Tensor& self, const DimList&, const std::optional<Scalar>&, bool) {
  check_deviation("std_mean", self);
}
void check_nansum(const Tensor& self, const DimList&, bool, std::optional<DType>) {
  MT_CHECK(!is_complex(self.dtype()), "nansum on CPU does not support complex inputs");
}

DType real_dtype_of(DType dtype) {
  if (dtype == DType::complex64) return DType::float32;
  return dtype == DType::complex128 ? DType::float64 : dtype;
}

void variance(const Tensor& self, const DimList& dim, const std::optional<Scalar>&, bool keepdim,
              Output& out) {
  check_deviation("std and var", self);
  out.prepare(reduced_shape(self.sizes(), dim, keepdim), real_dtype_of(self.dtype()), self.device());
}

void variance_and_mean(const Tensor& self, const DimList& dim, const std::optional<Scalar>&, bool keepdim,
                       Output& variance, Output& mean) {
  check_deviation("var_mean", self);
  const Dims sizes = reduced_shape(self.sizes(), dim, keepdim);
  variance.prepare(sizes, real_dtype_of(self.dtype()), self.device());
  mean.prepare(sizes, self.dtype(), self.device());
}

void logsumexp(const Tensor& self, const DimList& dim, bool keepdim, Output& out) {
  out.prepare(reduced_shape(self.sizes(), dim, keepdim), float_if_integral(self.dtype()), self.device());
}

void cumulative(const Tensor& self, int64_t dim, std::optional<DType> dtype, Output& out) {
  wrap_dim(dim, self.dim());
  const DType own = is_integral(self.dtype(), true) ? DType::int64 : self.dtype();
  out.prepare(self.sizes(), dtype.value_or(own), self.device());
}

void cumulative(const Tensor& self, int64_t dim, Output& out) {
  wrap_dim(dim, self.dim());
  out.prepare(self.sizes(), self.dtype(), self.device());
}

void vector_norm(const Tensor& self, const Scalar& ord, const DimList& dim, bool keepdim,
                 std::optional<DType> dtype, Output& out) {
  constexpr const char* name = "linalg.vector_norm";
  MT_CHECK(is_differentiable(self.dtype()), name,
           ": Expected a floating point or complex tensor as input. Got ", info(self.dtype()).legacy);
  MT_CHECK(!ord.is_complex(), name, ": Expected a non-complex scalar as the order of norm.");
  if (dtype) {
    MT_CHECK(is_differentiable(*dtype), name, ": dtype should be floating point or complex, but got ",
             info(*dtype).legacy);
    MT_CHECK(is_complex(*dtype) == is_complex(self.dtype()), name, ": dtype should be ",
             is_complex(self.dtype()) ? "complex for complex" : "real for real", " inputs, but got ",
             info(*dtype).legacy);
    MT_CHECK(promote(self.dtype(), *dtype) == *dtype, name, ": the dtype of the input (",
             info(self.dtype()).legacy, ") should be convertible without narrowing to the specified dtype (",
             info(*dtype).legacy, ")");
  }
  const double order = ord.to<double>();
  if (self.numel() == 0 && (order < 0 || std::isinf(order))) {
    MT_CHECK(!dim.all(), name, " cannot compute the ", ord_text(ord),
             " norm on an empty tensor because the operation does not have an identity");
    const uint64_t mask = dim_mask(dim, self.dim());
    for (int64_t d = 0; d < self.dim(); ++d)
      MT_CHECK(!(mask >> d & 1) || self.sizes()[size_t(d)] != 0, name, " cannot compute the ", ord_text(ord),
               " norm on the dimension ", d,
               "because this dimension is empty and the operation does not have an identity");
  }
  out.prepare(reduced_shape(self.sizes(), dim, keepdim), real_dtype_of(dtype.value_or(self.dtype())),
              self.device());
}

void hash_tensor(const Tensor& self, const DimList& dim, bool keepdim, int64_t mode, Output& out) {
  MT_CHECK(mode == 0, "Unknown hash_tensor mode: ", mode);
  MT_CHECK_AS(not_implemented, !is_complex(self.dtype()), "\"xor_sum_cpu\" not implemented for '",
              info(self.dtype()).legacy, "'");
  if (self.numel() == 0) {
    MT_CHECK(!dim.all(),
             "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the "
             "reduction dim "
             "with the 'dim' argument.");
    const uint64_t mask = dim_mask(dim, self.dim());
    for (int64_t d = 0; d < self.dim(); ++d)
      MT_CHECK_AS(index, !(mask >> d & 1) || self.sizes()[size_t(d)] != 0,
                  "hash_tensor: Expected reduction dim ", d, " to have non-zero size.");
  }
  out.prepare(reduced_shape(self.sizes(), dim, keepdim), DType::uint64, self.device());
}

}  // namespace mt::infer
