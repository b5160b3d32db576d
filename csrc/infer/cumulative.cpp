#include "generated/infer/cumulative.h"

namespace mt::infer {

static void in_dtype(const char* op, const Tensor& self, int64_t dim, std::optional<DType> dtype,
                     Output& out) {
  wrap_dim(dim, self.dim());
  MT_CHECK_AS(not_implemented, dtype != DType::boolean, "\"", op, "_out_cpu\" not implemented for 'Bool'");
  const DType own = is_integral(self.dtype(), true) ? DType::int64 : self.dtype();
  out.prepare(self.sizes(), dtype.value_or(own), self.device());
}
void cumsum(const Tensor& self, int64_t dim, std::optional<DType> dtype, Output& out) {
  in_dtype("cumsum", self, dim, dtype, out);
}
void cumprod(const Tensor& self, int64_t dim, std::optional<DType> dtype, Output& out) {
  in_dtype("cumprod", self, dim, dtype, out);
}

// Keeps the dtype.
void cumulative(const Tensor& self, int64_t dim, Output& out) {
  wrap_dim(dim, self.dim());
  out.prepare(self.sizes(), self.dtype(), self.device());
}

}  // namespace mt::infer
