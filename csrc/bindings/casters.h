// Tensor, dtype and device as arguments and results of nanobind functions.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/errors.h"
#include "bindings/tensor_object.h"
#include "bindings/types.h"

namespace nanobind::detail {

template <>
struct type_caster<mt::Tensor> {
  NB_TYPE_CASTER(mt::Tensor, const_name("Tensor"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    if (source.is_none()) {
      value = mt::Tensor();
      return true;
    }
    if (!mt::bindings::is_tensor(source.ptr())) return false;
    value = mt::bindings::tensor_of(source.ptr());
    return true;
  }
  static handle from_cpp(const mt::Tensor& tensor, rv_policy, cleanup_list*) noexcept {
    return mt::bindings::wrap(tensor);
  }
};

template <>
struct type_caster<mt::DType> {
  NB_TYPE_CASTER(mt::DType, const_name("dtype"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    if (!mt::bindings::is_dtype_like(source.ptr())) return false;
    value = mt::bindings::dtype_of_object(source.ptr());
    return true;
  }
  static handle from_cpp(mt::DType dtype, rv_policy, cleanup_list*) noexcept {
    return mt::bindings::dtype_object(dtype);
  }
};

template <>
struct type_caster<mt::Device> {
  NB_TYPE_CASTER(mt::Device, const_name("device"))
  bool from_python(handle source, uint8_t, cleanup_list*) {
    if (!mt::bindings::is_device_like(source.ptr())) return false;
    value = mt::bindings::device_from_object(source.ptr());
    return true;
  }
  static handle from_cpp(mt::Device device, rv_policy, cleanup_list*) noexcept {
    return mt::bindings::device_object(device);
  }
};

}  // namespace nanobind::detail
