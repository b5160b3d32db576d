#include "infer/checks.h"

namespace mt::infer {

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

void check_max_all(const Tensor& self) { check_extremum("max", self, DimList()); }
void check_min_all(const Tensor& self) { check_extremum("min", self, DimList()); }

void check_inversion(const Tensor& self) {
  MT_CHECK_AS(type, is_integral(self.dtype(), true),
              "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
}

void check_float_or_double(const Tensor& t, const char* name) {
  MT_CHECK_AS(not_implemented, is_float_or_double(t), "\"", name, "\" not implemented for '",
              info(t.dtype()).legacy, "'");
}

void check_complex_parts(const Tensor& real, const Tensor& imag) {
  MT_CHECK(is_float_or_double(real) && is_float_or_double(imag),
           "Expected both inputs to be Half, Float or Double tensors but got ", info(real.dtype()).legacy,
           " and ", info(imag.dtype()).legacy);
  MT_CHECK(real.dtype() == imag.dtype(), "Expected object of scalar type ", info(real.dtype()).legacy,
           " but got scalar type ", info(imag.dtype()).legacy, " for second argument");
  check_same_device({&real, &imag});
}

void check_normalized_shape(const Tensor& input, IntList shape) {
  MT_CHECK(!shape.empty(),
           "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
           "but got "
           "normalized_shape = ",
           to_string(shape));
  const bool fits = size_t(input.dim()) >= shape.size() &&
                    std::ranges::equal(input.sizes().subspan(input.sizes().size() - shape.size()), shape);
  if (fits) [[likely]]
    return;
  std::string wanted = "[*";
  for (int64_t size : shape) wanted += ", " + std::to_string(size);
  fail(ErrorKind::runtime, "Given normalized_shape=", to_string(shape), ", expected input with shape ",
       wanted, "], but got input of size", to_string(input.sizes()));
}

void check_shape_like(const char* name, const Tensor& parameter, IntList shape) {
  MT_CHECK(!parameter.defined() || std::ranges::equal(parameter.sizes(), shape), "Expected ", name,
           " to be of same shape as normalized_shape, but got ", name, " of shape ",
           parameter.defined() ? to_string(parameter.sizes()) : std::string(),
           " and normalized_shape = ", to_string(shape));
}

}  // namespace mt::infer
