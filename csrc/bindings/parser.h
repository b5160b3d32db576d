// Arguments of operators: matched against the overloads' signatures without building tuples or dicts.
#pragma once

#include "bindings/errors.h"
#include "bindings/tensor_object.h"
#include "bindings/types.h"
#include "core/dispatch.h"
#include "core/generator.h"
#include "generated/bindings/limits.h"

namespace mt::bindings {

enum class Kind : uint8_t {
  tensor,
  tensor_list,
  number,
  integer,
  real,
  boolean,
  int_list,
  dim_list,
  dtype,
  device,
  layout,
  memory_format,
  generator,
  optional_tensor_list,
  real_list,
  text,
  any
};

struct Parameter {
  const char* name;
  Kind kind;
  bool optional;  // has a default
  bool nullable;  // takes None
  bool keyword_only;
  bool symbolic;  // PyTorch's SymInt: a size, a count or an offset
  PyObject* interned = nullptr;
};

struct Signature {
  const char* text;  // for error messages: "(Tensor input, Tensor other, *, Number alpha)"
  Parameter* parameters;
  int count;
  int positional;         // how many may be given by position
  uint32_t required = 0;  // bit i: parameter i has no default
};

// The values of one call, by parameter index. Slots whose bit is not set are undefined: the default applies.
class Bound {
 public:
  static constexpr int kMax = kMostParameters;
  static_assert(kMax <= 32, "filled_ and Signature::required have one bit for each parameter");

  PyObject* at(int i) const { return slot_[i]; }
  // What a __torch_function__ gave instead of the operator; null with the Python error set when the call failed.
  PyObject* overridden() const { return overridden_; }
  bool passed(int i) const { return filled_ >> i & 1; }
  bool given(int i) const { return passed(i) && slot_[i] != Py_None; }

  const Tensor& tensor(int i) const { return given(i) ? tensor_of(slot_[i]) : kUndefined; }
  std::vector<Tensor> tensors(int i) const;
  std::vector<Tensor> optional_tensors(int i) const { return tensors(i); }  // None: undefined
  std::vector<Tensor> out_tensors(int i, int count) const;                  // out= of several results
  PyObject* object(int i) const;  // as Python passed it; a new reference
  Scalar number(int i) const;
  Scalar number(int i, Scalar fallback) const { return passed(i) ? number(i) : fallback; }
  std::optional<Scalar> number_or_none(int i) const {
    return given(i) ? std::optional(number(i)) : std::nullopt;
  }
  int64_t integer(int i) const;
  int64_t integer(int i, int64_t fallback) const { return passed(i) ? integer(i) : fallback; }
  std::optional<int64_t> integer_or_none(int i) const {
    return given(i) ? std::optional(integer(i)) : std::nullopt;
  }
  double real(int i) const;
  double real(int i, double fallback) const { return passed(i) ? real(i) : fallback; }
  bool boolean(int i) const;
  bool boolean(int i, bool fallback) const { return passed(i) ? boolean(i) : fallback; }
  std::optional<bool> boolean_or_none(int i) const {
    return given(i) ? std::optional(boolean(i)) : std::nullopt;
  }
  std::optional<double> real_or_none(int i) const { return given(i) ? std::optional(real(i)) : std::nullopt; }
  std::vector<double> reals(int i) const;
  std::vector<Scalar> numbers(int i) const;
  std::optional<std::vector<double>> reals_or_none(int i) const {
    return given(i) ? std::optional(reals(i)) : std::nullopt;
  }
  std::string_view text(int i) const;
  std::string_view text(int i, std::string_view fallback) const { return passed(i) ? text(i) : fallback; }
  std::optional<std::string_view> text_or_none(int i) const {
    return given(i) ? std::optional(text(i)) : std::nullopt;
  }
  Dims ints(int i) const;
  OptionalInts ints_or_none(int i) const { return given(i) ? OptionalInts(ints(i)) : std::nullopt; }
  // Lists of `length` ints, for which one int may stand.
  Dims sized_ints(int i, int length) const;
  Dims sized_ints(int i, int length, Dims fallback) const {
    return given(i) ? sized_ints(i, length) : fallback;
  }
  OptionalInts sized_ints_or_none(int i, int length) const {
    return given(i) ? OptionalInts(sized_ints(i, length)) : std::nullopt;
  }
  DimList dims(int i) const { return given(i) ? DimList(ints(i)) : DimList(); }
  DimList dims(int i, DimList fallback) const { return given(i) ? DimList(ints(i)) : fallback; }
  DType dtype(int i) const { return dtype_of_object(slot_[i]); }
  std::optional<DType> dtype_or_none(int i) const {
    return given(i) ? std::optional(dtype(i)) : std::nullopt;
  }
  Device device(int i) const { return device_from_object(slot_[i]); }
  std::optional<Device> device_or_none(int i) const {
    return given(i) ? std::optional(device(i)) : std::nullopt;
  }
  std::optional<Device> device_name_or_none(int i) const {
    return given(i) ? std::optional(named_device(slot_[i])) : std::nullopt;
  }
  std::optional<MemoryFormat> format_or_none(int i) const {
    return given(i) ? std::optional(memory_format_of(slot_[i])) : std::nullopt;
  }
  std::optional<MemoryFormat> format(int i, MemoryFormat fallback) const {
    return given(i) ? format_or_none(i) : std::optional(fallback);
  }
  Generator* generator(int i) const;
  // The five options every factory takes, from parameter i on: dtype, layout, device, pin_memory, requires_grad.
  TensorOptions options(int i) const;

 private:
  friend class Overloads;
  static const Tensor kUndefined;
  PyObject* slot_[kMax];
  PyObject* overridden_ = nullptr;
  bool subclass_;  // a tensor of another type than Tensor is among the arguments
  uint32_t filled_;
  int spread_at_;
  PyObject* const* spread_;  // ints given one by one: x.view(2, 3)
  Py_ssize_t spread_count_;
};

class Overloads {
 public:
  // `shown`: the name in messages, if it is another.
  Overloads(const char* name, std::initializer_list<Signature> signatures, const char* shown = nullptr);
  // Index of the first signature the call fits, or -1: bound.overridden() is the result then, or null with the
  // error set. `self` is null for functions.
  int match(Bound& bound, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) const;

 private:
  bool fits(const Signature& signature, Bound& bound, PyObject* self, PyObject* const* args, Py_ssize_t count,
            PyObject* keywords) const;
  bool set_single_error(const Signature& signature, PyObject* self, PyObject* const* args, Py_ssize_t count,
                        PyObject* keywords) const;
  void set_error(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) const;
  const char* name_;
  const char* shown_;
  std::vector<Signature> signatures_;
};

bool is_number(PyObject* object);
Scalar number_from(PyObject* object);
int64_t integer_from(PyObject* object);
inline PyObject* returned(PyObject* object) {
  Py_INCREF(object);
  return object;
}
PyObject* wrap_list(std::vector<Tensor>&& tensors);  // a tuple
PyObject* scalar_object(const Scalar& value);

}  // namespace mt::bindings
