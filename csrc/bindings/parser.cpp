#include "bindings/parser.h"

#include <algorithm>
#include <cstring>

#include "autograd/node.h"
#include "bindings/booleans.h"
#include "bindings/old_overloads.h"
#include "bindings/overrides.h"
#include "bindings/owned.h"
#include "core/intercept.h"
#include "core/transform.h"

namespace mt::bindings {

const Tensor Bound::kUndefined;

namespace {

bool is_exact_number(PyObject* o) { return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o); }

// numpy's scalars and the like: numbers that are no containers.
bool is_foreign_number(PyObject* o) {
  return (PyIndex_Check(o) || (Py_TYPE(o)->tp_as_number && Py_TYPE(o)->tp_as_number->nb_float)) &&
         !PySequence_Check(o) && !PyUnicode_Check(o);
}

// An `int` takes a tensor without dimensions, a SymInt any of one element, such as torch.randint(low, high, (1,)); neither
// takes a mask. Elements of lists may have dimensions, and those of int[] be masks.
bool tensor_stands_for_integer(const Tensor& t, const Parameter& p) {
  const bool alone = p.kind == Kind::integer;
  return t.numel() == 1 && (t.dim() == 0 || !alone || p.symbolic) &&
         is_integral(t.dtype(), !alone && !p.symbolic);
}

[[gnu::noinline]] bool stands_for_integer(PyObject* o, const Parameter& p) {
  if (is_tensor(o)) return tensor_stands_for_integer(tensor_of(o), p);
  if (!PyIndex_Check(o) || PyBool_Check(o)) return false;
  if (!PySequence_Check(o)) return true;
  PyObject* index = PyNumber_Index(o);  // an array of numpy may hold one integer
  if (!index) PyErr_Clear();
  Py_XDECREF(index);
  return index != nullptr;
}
inline bool is_integer(PyObject* o, const Parameter& p) {
  return PyLong_CheckExact(o) || stands_for_integer(o, p);
}

// PyTorch looks for bools at the first position only: zeros(True) fails, zeros(3, True) does not.
inline bool is_element(PyObject* o, const Parameter& p, Py_ssize_t position) {
  return is_integer(o, p) || (position && PyBool_Check(o));
}

bool is_int_list(PyObject* o, const Parameter& p) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!is_element(PySequence_Fast_GET_ITEM(o, i), p, i)) return false;
  return true;
}

// x.view(2, 3): a list of ints may be spread over the positions if it is all that a signature takes by position.
bool spreads(const Signature& s, int first) {
  return s.positional == first + 1 && s.parameters[first].kind == Kind::int_list;
}

bool is_tensor_list(PyObject* o) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!is_tensor(PySequence_Fast_GET_ITEM(o, i))) return false;
  return true;
}

bool is_optional_tensor_list(PyObject* o) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(o, i);
    if (item != Py_None && !is_tensor(item)) return false;
  }
  return true;
}

bool is_real_list(PyObject* o) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!is_number(PySequence_Fast_GET_ITEM(o, i))) return false;
  return true;
}

// Kinds under which a tensor of another type may hide.
bool holds_tensors(Kind kind) {
  return kind == Kind::tensor || kind == Kind::tensor_list || kind == Kind::optional_tensor_list;
}

// A layout other than torch.strided among the arguments of the call that is being matched; Python's lock guards it.
PyObject* g_other_layout = nullptr;

// What factories make of sparse layouts: the function of that name in Python.
PyObject* call_with_layout(const char* name, PyObject* self, PyObject* const* args, Py_ssize_t count,
                           PyObject* keywords) {
  const Py_ssize_t own = self ? 1 : 0, named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  const Owned module(PyImport_ImportModule("mindtorch_v2._sparse.factories"));
  const Owned function(PyObject_GetAttrString(module.object, "make"));
  const Owned positional(PyTuple_New(count + own));
  if (self) PyTuple_SET_ITEM(positional.object, 0, returned(self));
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(positional.object, i + own, returned(args[i]));
  const Owned given(PyDict_New());
  for (Py_ssize_t i = 0; i < named; ++i)
    if (PyDict_SetItem(given.object, PyTuple_GET_ITEM(keywords, i), args[count + i]) < 0) throw PythonError();
  return PyObject_CallFunction(function.object, "sOO", name, positional.object, given.object);
}

[[gnu::hot]] bool accepts(const Parameter& p, PyObject* o) {
  if (o == Py_None) return p.nullable;
  switch (p.kind) {
    case Kind::tensor: return is_tensor(o);
    case Kind::tensor_list: return is_tensor_list(o);
    case Kind::optional_tensor_list: return is_optional_tensor_list(o);
    case Kind::real_list: return is_real_list(o);
    case Kind::text: return PyUnicode_Check(o);
    case Kind::number: return is_number(o);
    case Kind::integer: return is_integer(o, p);
    case Kind::real: return is_number(o) && !PyComplex_Check(o);
    case Kind::boolean: return is_boolean(o) || (is_tensor(o) && tensor_of(o).dtype() == DType::boolean);
    case Kind::int_list: return is_int_list(o, p);
    case Kind::dim_list: return is_integer(o, p) || is_int_list(o, p);
    case Kind::dtype: return is_dtype_like(o);
    case Kind::device: return is_device_like(o);
    case Kind::layout:
      if (o != g_strided && Py_TYPE(o) == Py_TYPE(g_strided)) g_other_layout = o;
      return Py_TYPE(o) == Py_TYPE(g_strided);
    case Kind::any: return true;  // whoever reads it checks
    case Kind::memory_format: return Py_TYPE(o) == g_memory_format_type;
    case Kind::generator:
      return Py_TYPE(o) == g_generator_type || PyType_IsSubtype(Py_TYPE(o), g_generator_type);
  }
  return false;
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::tensor: return "Tensor";
    case Kind::optional_tensor_list:
    case Kind::tensor_list: return "tuple of Tensors";
    case Kind::real_list: return "tuple of floats";
    case Kind::text: return "str";
    case Kind::number: return "Number";
    case Kind::integer: return "int";
    case Kind::real: return "float";
    case Kind::boolean: return "bool";
    case Kind::int_list:
    case Kind::dim_list: return "tuple of ints";
    case Kind::dtype: return "torch.dtype";
    case Kind::device: return "torch.device";
    case Kind::layout: return "torch.layout";
    case Kind::memory_format: return "torch.memory_format";
    case Kind::generator: return "torch.Generator";
    default: return "another type";
  }
}

// Our own types as PyTorch calls them: torch.dtype.
std::string type_name(PyObject* o) {
  if (is_tensor(o)) return "Tensor";
  if (Py_TYPE(o) == Py_TYPE(g_strided)) return "torch.layout";
  const std::string_view name = Py_TYPE(o)->tp_name, own = "mindtorch_v2.";
  return name.starts_with(own) ? join_text("torch.", name.substr(own.size())) : std::string(name);
}

// numpy's names for PyTorch's parameters.
const char* canonical(const char* name) {
  if (std::strcmp(name, "axis") == 0) return "dim";
  if (std::strcmp(name, "keepdims") == 0) return "keepdim";
  for (const char* first : {"x", "x1", "a"})
    if (std::strcmp(name, first) == 0) return "input";
  if (std::strcmp(name, "x2") == 0) return "other";
  return name;
}

// A parameter by its own name, or by the one numpy has for it.
int parameter_named(const Signature& s, const char* name) {
  for (const char* wanted : {name, canonical(name)})
    for (int i = 0; i < s.count; ++i)
      if (std::strcmp(s.parameters[i].name, wanted) == 0) return i;
  return -1;
}

}  // namespace

[[gnu::hot]] bool is_number(PyObject* o) {
  if (is_exact_number(o)) [[likely]]
    return true;
  if (is_tensor(o))
    return tensor_of(o).dim() == 0 && !autograd::requires_grad(tensor_of(o)) &&
           !stands_for_batch(tensor_of(o)) && !is_dual(tensor_of(o)) && !tensor_of(o).device().is_meta();
  return PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o) || is_foreign_number(o);
}

[[gnu::hot]] int64_t integer_from(PyObject* o) {
  if (PyLong_Check(o)) [[likely]] {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
    MT_CHECK_AS(value, !overflow, "Overflow when unpacking long long");
    return value;  // that of an int is never an error
  }
  PyObject* index = PyNumber_Index(o);
  if (!index) throw PythonError();
  const long long value = PyLong_AsLongLong(index);
  Py_DECREF(index);
  if (value == -1 && PyErr_Occurred()) throw PythonError();
  return value;
}

// numpy's complex64, which is no complex of Python's; asked for its real part alone it would drop the other.
static bool is_complex_scalar(PyObject* o) {
  if (!PyObject_HasAttrString(o, "dtype") || !PyObject_HasAttrString(o, "__complex__")) return false;
  const Owned dtype(PyObject_GetAttrString(o, "dtype"));
  if (!PyObject_HasAttrString(dtype.object, "kind")) return false;
  const Owned kind(PyObject_GetAttrString(dtype.object, "kind"));
  return PyUnicode_Check(kind.object) && PyUnicode_CompareWithASCIIString(kind.object, "c") == 0;
}

[[gnu::hot]] Scalar number_from(PyObject* o) {
  if (PyFloat_Check(o)) return Scalar(PyFloat_AS_DOUBLE(o));
  if (PyBool_Check(o)) return Scalar(o == Py_True);
  if (PyLong_Check(o)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
    MT_CHECK_AS(overflow, !overflow, "int too big to convert");
    return Scalar(int64_t(value));
  }
  if (PyComplex_Check(o)) return Scalar(complex128(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
  if (is_tensor(o)) return item(tensor_of(o));
  if (PyIndex_Check(o)) return Scalar(integer_from(o));
  if (is_complex_scalar(o)) {
    const Py_complex value = PyComplex_AsCComplex(o);
    if (PyErr_Occurred()) throw PythonError();
    return Scalar(complex128(value.real, value.imag));
  }
  const double value = PyFloat_AsDouble(o);
  if (value == -1.0 && PyErr_Occurred()) throw PythonError();
  return Scalar(value);
}

std::vector<Tensor> Bound::tensors(int i) const {
  std::vector<Tensor> out;
  if (!given(i)) return out;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(slot_[i]);
  for (Py_ssize_t k = 0; k < n; ++k) {
    PyObject* item = PySequence_Fast_GET_ITEM(slot_[i], k);
    out.push_back(item == Py_None ? Tensor() : tensor_of(item));
  }
  return out;
}

std::vector<Tensor> Bound::out_tensors(int i, int count) const {
  std::vector<Tensor> out = tensors(i);
  MT_CHECK_AS(type, int(out.size()) == count, "out: expected a tuple of ", count, " tensors, got ",
              out.size());
  return out;
}

PyObject* Bound::object(int i) const {
  if (i != spread_at_) {
    // Integers of numpy become Python's, which functions in Python ask for.
    PyObject* o = slot_[i];
    const bool foreign = !PyLong_Check(o) && !is_tensor(o) && PyIndex_Check(o) && !PySequence_Check(o);
    return foreign ? Owned(PyNumber_Index(o)).release() : returned(o);
  }
  PyObject* tuple = PyTuple_New(spread_count_);
  if (!tuple) throw PythonError();
  for (Py_ssize_t k = 0; k < spread_count_; ++k) PyTuple_SET_ITEM(tuple, k, returned(spread_[k]));
  return tuple;
}

std::vector<double> Bound::reals(int i) const {
  std::vector<double> out;
  if (!given(i)) return out;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(slot_[i]); ++k)
    out.push_back(number_from(PySequence_Fast_GET_ITEM(slot_[i], k)).to<double>());
  return out;
}

std::vector<Scalar> Bound::numbers(int i) const {
  std::vector<Scalar> out;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(slot_[i]); ++k)
    out.push_back(number_from(PySequence_Fast_GET_ITEM(slot_[i], k)));
  return out;
}

std::string_view Bound::text(int i) const {
  Py_ssize_t size = 0;
  const char* chars = PyUnicode_AsUTF8AndSize(slot_[i], &size);
  if (!chars) throw PythonError();
  return {chars, size_t(size)};
}

Scalar Bound::number(int i) const { return number_from(slot_[i]); }
[[gnu::hot]] int64_t Bound::integer(int i) const { return integer_from(slot_[i]); }

double Bound::real(int i) const {
  if (PyFloat_CheckExact(slot_[i])) return PyFloat_AS_DOUBLE(slot_[i]);
  return number_from(slot_[i]).to<double>();
}

[[gnu::hot]] bool Bound::boolean(int i) const {
  const int value = PyObject_IsTrue(slot_[i]);
  if (value < 0) throw PythonError();
  return value;
}

[[gnu::hot]] Dims Bound::ints(int i) const {
  Dims out;
  if (i == spread_at_) {
    for (Py_ssize_t k = 0; k < spread_count_; ++k) out.push_back(integer_from(spread_[k]));
    return out;
  }
  if (!given(i)) return out;
  PyObject* o = slot_[i];
  if (!PyTuple_Check(o) && !PyList_Check(o)) {
    out.push_back(integer_from(o));
    return out;
  }
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k)
    out.push_back(integer_from(PySequence_Fast_GET_ITEM(o, k)));
  return out;
}

Dims Bound::sized_ints(int i, int length) const {
  if (!given(i)) return {};  // the default is an empty list
  Dims out = ints(i);
  const bool single = !PyTuple_Check(slot_[i]) && !PyList_Check(slot_[i]);
  while (single && int(out.size()) < length) out.push_back(out[0]);
  return out;
}

Generator* Bound::generator(int i) const {
  return given(i) ? reinterpret_cast<GeneratorObject*>(slot_[i])->value : nullptr;
}

[[gnu::hot]] TensorOptions Bound::options(int i) const {
  TensorOptions o;
  if (!(filled_ >> i & 31)) return o;
  if (given(i)) o.dtype = dtype(i);
  if (given(i + 2)) o.device = device(i + 2);
  o.pin_memory = given(i + 3) && boolean(i + 3);
  o.requires_grad = given(i + 4) && boolean(i + 4);
  if (o.requires_grad) {
    const bool like =
        i > 0 && slot_[0] && is_tensor(slot_[0]);  // made in the image of a tensor: new_zeros, zeros_like
    const DType made = like && !o.dtype ? tensor_of(slot_[0]).dtype() : o.dtype_or_default();
    MT_CHECK(is_differentiable(made),
             "Only Tensors of floating point and complex dtype can require gradients");
  }
  return o;
}

Overloads::Overloads(const char* name, std::initializer_list<Signature> signatures, const char* shown)
    : name_(name), shown_(shown ? shown : name), signatures_(signatures) {
  for (Signature& s : signatures_) {
    MT_CHECK(s.count <= Bound::kMax, name, "() has ", s.count, " parameters, but Bound has room for ",
             Bound::kMax);
    for (int i = 0; i < s.count; ++i) {
      s.parameters[i].interned = PyUnicode_InternFromString(s.parameters[i].name);
      if (!s.parameters[i].optional) s.required |= 1u << i;
    }
  }
}

[[gnu::hot]] int Overloads::match(Bound& bound, PyObject* self, PyObject* const* args, Py_ssize_t count,
                                  PyObject* keywords) const {
  g_other_layout = nullptr;
  for (size_t i = 0; i < signatures_.size(); ++i) {
    if (!fits(signatures_[i], bound, self, args, count, keywords)) continue;
    if (g_other_layout) [[unlikely]] {
      bound.overridden_ = call_with_layout(name_, self, args, count, keywords);
      return -1;
    }
    if (bound.subclass_) [[unlikely]] {
      bound.overridden_ = call_override(name_, self, args, count, keywords);
      if (bound.overridden_) return -1;
    }
    return int(i);
  }
  bound.overridden_ = call_override(name_, self, args, count, keywords);
  if (bound.overridden_) return -1;
  if (!keywords) {
    if (const auto call = modern_call(name_, self != nullptr, args, count, signatures_))
      return match(bound, self, call->args.data(), call->count, call->keywords);
  }
  set_error(self, args, count, keywords);
  return -1;
}

[[gnu::hot]] bool Overloads::fits(const Signature& s, Bound& bound, PyObject* self, PyObject* const* args,
                                  Py_ssize_t count, PyObject* keywords) const {
  bound.spread_at_ = -1;
  bound.subclass_ = self ? Py_TYPE(self) != g_plain_type : !g_plain_type;
  uint32_t filled = 0;
  int at = 0;
  if (self) {
    bound.slot_[at++] = self;
    filled = 1;
  }
  const int first = at;
  for (Py_ssize_t i = 0; i < count; ++i, ++at) {
    if (at >= s.positional) return false;
    const Parameter& p = s.parameters[at];
    bound.slot_[at] = args[i];
    filled |= 1u << at;
    if (at == first && spreads(s, first) && is_integer(args[i], p)) {
      for (Py_ssize_t k = i + 1; k < count; ++k)
        if (!is_element(args[k], p, k)) return false;
      bound.spread_ = args + i;
      bound.spread_count_ = count - i;
      bound.spread_at_ = at;
      break;
    }
    if (p.kind == Kind::tensor && Py_TYPE(args[i]) == g_plain_type) [[likely]]
      continue;
    if (!accepts(p, args[i])) return false;
    bound.subclass_ |= holds_tensors(p.kind);
  }
  if (keywords) {
    const Py_ssize_t n = PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t k = 0; k < n; ++k) {
      PyObject* name = PyTuple_GET_ITEM(keywords, k);
      int found = -1;
      for (int i = first; i < s.count; ++i) {
        if (s.parameters[i].interned != name) continue;
        found = i;
        break;
      }
      if (found < 0) {
        found = parameter_named(s, PyUnicode_AsUTF8(name));
        if (found < first) found = -1;
      }
      if (found < 0 || (filled >> found & 1) || !accepts(s.parameters[found], args[count + k])) return false;
      bound.subclass_ |= holds_tensors(s.parameters[found].kind) && Py_TYPE(args[count + k]) != g_plain_type;
      bound.slot_[found] = args[count + k];
      filled |= 1u << found;
    }
  }
  bound.filled_ = filled;
  return (s.required & ~filled) == 0;
}

void Overloads::set_error(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) const {
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  // Where only one overload has room for the arguments, the first thing wrong with them can be named.
  const Signature* candidate = nullptr;
  int candidates = 0, shown = 0;
  for (const Signature& s : signatures_) {
    if (!*s.text) continue;
    ++shown;
    if (s.count - (self ? 1 : 0) < count + named) continue;
    candidate = &s;
    ++candidates;
  }
  if (shown == 1 && !candidate) candidate = &signatures_[0], candidates = 1;
  if (candidates == 1 && set_single_error(*candidate, self, args, count, keywords)) return;
  std::vector<std::string> shown_keywords;
  for (Py_ssize_t i = 0; i < named; ++i)
    shown_keywords.push_back(
        join_text(PyUnicode_AsUTF8(PyTuple_GET_ITEM(keywords, i)), "=", type_name(args[count + i])));
  std::ranges::sort(shown_keywords);
  std::string got = "(";
  for (Py_ssize_t i = 0; i < count; ++i) got += join_text(i ? ", " : "", type_name(args[i]));
  for (const std::string& keyword : shown_keywords) got += join_text(got == "(" ? "" : ", ", keyword);
  got += named && !count ? ", )" : ")";  // a comma where there are keywords alone, as PyTorch writes it
  std::string wanted;
  for (const Signature& s : signatures_)
    if (*s.text) wanted += join_text("\n * ", s.text);
  PyErr_Format(PyExc_TypeError,
               "%s() received an invalid combination of arguments - got %s, but expected %s:%s\n", shown_,
               got.c_str(), shown == 1 ? "this" : "one of", wanted.c_str());
}

// Names what is no tensor in a list of them.
static bool set_element_error(PyObject* list, Py_ssize_t position) {
  if (!PyTuple_Check(list) && !PyList_Check(list)) return false;
  Py_ssize_t k = 0;
  while (is_tensor(PySequence_Fast_GET_ITEM(list, k))) ++k;
  PyErr_Format(PyExc_TypeError, "expected Tensor as element %zd in argument %zd, but got %s", k, position,
               type_name(PySequence_Fast_GET_ITEM(list, k)).c_str());
  return true;
}

bool Overloads::set_single_error(const Signature& s, PyObject* self, PyObject* const* args, Py_ssize_t count,
                                 PyObject* keywords) const {
  const int first = self ? 1 : 0;
  if (count > 1 && spreads(s, first) && is_integer(args[0], s.parameters[first]))
    for (Py_ssize_t i = 1; i < count; ++i) {
      if (is_element(args[i], s.parameters[first], i)) continue;
      PyErr_Format(
          PyExc_TypeError,
          "%s(): argument '%s' failed to unpack the object at pos %zd with error \"type must be tuple "
          "of ints,but got %s\"",
          shown_, s.parameters[first].name, i + 1, Py_TYPE(args[i])->tp_name);
      return true;
    }
  if (count > s.positional - first && !spreads(s, first)) {
    const int most = s.positional - first;
    const int least = int(std::count_if(s.parameters + first, s.parameters + s.positional,
                                        [](const Parameter& p) { return !p.optional; }));
    const std::string taken = least == most ? join_text(most) : join_text("from ", least, " to ", most);
    PyErr_Format(PyExc_TypeError, "%s() takes %s positional argument%s but %zd %s given", shown_,
                 taken.c_str(), most == 1 ? "" : "s", count, count == 1 ? "was" : "were");
    return true;
  }
  // Overloads that messages do not mention take numbers for tensors.
  const bool numbers_too = std::any_of(signatures_.begin(), signatures_.end(),
                                       [](const Signature& other) { return !*other.text; });
  uint32_t filled = self ? 1 : 0;
  for (Py_ssize_t i = 0; i < count && first + i < s.positional; ++i) {
    const Parameter& p = s.parameters[first + i];
    filled |= 1u << (first + i);
    if (accepts(p, args[i]) || (i == 0 && spreads(s, first) && is_integer(args[i], p))) continue;
    if (p.kind == Kind::tensor_list && set_element_error(args[i], i)) return true;
    if (numbers_too && p.kind == Kind::tensor && is_number(args[i])) continue;
    PyErr_Format(PyExc_TypeError, "%s(): argument '%s' (position %zd) must be %s, not %s", shown_, p.name,
                 i + 1, kind_name(p.kind), type_name(args[i]).c_str());
    return true;
  }
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t k = 0; k < named; ++k) {
    const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(keywords, k));
    const int at = parameter_named(s, name);
    if (at < first) {
      PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%s'", shown_, name);
      return true;
    }
    const Parameter& p = s.parameters[at];
    if (filled >> at & 1) {
      PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%s'", shown_, p.name);
      return true;
    }
    filled |= 1u << at;
    if (accepts(p, args[count + k])) continue;
    PyErr_Format(PyExc_TypeError, "%s(): argument '%s' must be %s, not %s", shown_, p.name, kind_name(p.kind),
                 type_name(args[count + k]).c_str());
    return true;
  }
  std::string missing;
  int absent = 0;
  for (int i = first; i < s.count; ++i) {
    if (!((s.required & ~filled) >> i & 1)) continue;
    missing += join_text(absent++ ? ", " : "", '"', s.parameters[i].name, '"');
  }
  if (!absent) return false;
  PyErr_Format(PyExc_TypeError, "%s() missing %d required positional arguments: %s", shown_, absent,
               missing.c_str());
  return true;
}

PyObject* wrap_list(std::vector<Tensor>&& tensors) {
  PyObject* tuple = PyTuple_New(Py_ssize_t(tensors.size()));
  if (!tuple) throw PythonError();
  for (size_t i = 0; i < tensors.size(); ++i)
    PyTuple_SET_ITEM(tuple, Py_ssize_t(i), wrap(std::move(tensors[i])));
  return tuple;
}

PyObject* scalar_object(const Scalar& value) {
  switch (value.category()) {
    case Category::boolean: return PyBool_FromLong(value.to<bool>());
    case Category::integral: return PyLong_FromLongLong(value.to<int64_t>());
    case Category::floating: return PyFloat_FromDouble(value.to<double>());
    default: {
      const complex128 z = value.to<complex128>();
      return PyComplex_FromDoubles(z.real(), z.imag());
    }
  }
}

}  // namespace mt::bindings
