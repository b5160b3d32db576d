#include "generated/infer/reduce.h"

#include <cmath>

#include "infer/checks.h"

namespace mt::infer {
namespace {

void check_position(const char* name, const Tensor& self, std::optional<int64_t> dim) {
  MT_CHECK(self.dtype() != DType::boolean, name, "(): does not support bool input");
  if (dim) return check_extremum(name, self, DimList(*dim));
  MT_CHECK_AS(index, self.numel() != 0, name,
              "(): Expected reduction dim to be specified for input.numel() == 0.");
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

void check_nansum(const Tensor& self, const DimList&, bool, std::optional<DType>) {
  MT_CHECK(!is_complex(self.dtype()), "nansum on CPU does not support complex inputs");
}

void arg_reduce(const Tensor& self, std::optional<int64_t> dim, bool keepdim, Output& out) {
  MT_CHECK(!is_complex(self.dtype()), "argmax/argmin does not support complex inputs");
  if (dim) {
    const int64_t d = wrap_dim(*dim, self.dim());
    MT_CHECK_AS(index, self.dim() == 0 || self.sizes()[size_t(d)] != 0, "argmax(): Expected reduction dim ",
                d, " to have non-zero size.");
  } else {
    MT_CHECK_AS(index, self.numel() != 0,
                "argmax(): Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with the 'dim' argument.");
  }
  out.prepare(reduced_shape(self.sizes(), dim ? DimList(*dim) : DimList(), keepdim), DType::int64,
              self.device());
}

void extremum_dim(const Tensor& self, int64_t dim, bool keepdim, Output& values, Output& indices) {
  const int64_t d = wrap_dim(dim, self.dim());
  MT_CHECK_AS(index, self.dim() == 0 || self.sizes()[size_t(d)] != 0, "max(): Expected reduction dim ", d,
              " to have non-zero size.");
  const Dims sizes = reduced_shape(self.sizes(), DimList(dim), keepdim);
  values.prepare(sizes, self.dtype(), self.device());
  indices.prepare(sizes, DType::int64, self.device());
}

void logsumexp(const Tensor& self, const DimList& dim, bool keepdim, Output& out) {
  out.prepare(reduced_shape(self.sizes(), dim, keepdim), float_if_integral(self.dtype()), self.device());
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
  out.prepare(reduced_shape(self.sizes(), dim, keepdim), real_type(dtype.value_or(self.dtype())),
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
