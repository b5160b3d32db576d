#include "bindings/overrides.h"

#include "bindings/asking.h"
#include "bindings/decline_slot.h"
#include "bindings/owned.h"
#include "bindings/parser.h"

namespace mt::bindings {

PyTypeObject* g_quiet_type = nullptr;

namespace {

std::map<std::string, PyObject*>& functions() {
  static std::map<std::string, PyObject*> table;  // kept for the life of the process
  return table;
}

PyObject* attribute_name() {
  static PyObject* name = PyUnicode_InternFromString("__torch_function__");
  return name;
}

PyObject* disabled_implementation() {
  static PyObject* found = [] {
    const Owned module(PyImport_ImportModule("mindtorch_v2._C"));
    return Owned(PyObject_GetAttrString(module.object, "_disabled_torch_function_impl")).release();
  }();
  return found;
}

PyObject* g_mode_handler = nullptr;
int g_threads_with_modes = 0;  // under the GIL
PyTypeObject* g_subclass_to_be_quiet = nullptr;

// The arguments to ask: one per type, a subclass before what it derives from.
class Asked {
 public:
  // A function written in Python also names the type of plain tensors to those who are asked, as PyTorch does.
  explicit Asked(bool plain_too = false) : plain_too_(plain_too) {}
  void consider(PyObject* o) {
    if (!enabled_ || (!wants_override(o) && !(plain_too_ && Py_TYPE(o) == g_tensor_type))) return;
    size_t at = list_.size();
    for (size_t i = 0; i < list_.size(); ++i) {
      if (Py_TYPE(list_[i]) == Py_TYPE(o)) return;
      if (at == list_.size() && PyType_IsSubtype(Py_TYPE(o), Py_TYPE(list_[i]))) at = i;
    }
    list_.insert(list_.begin() + std::ptrdiff_t(at), o);
  }
  void consider_deep(PyObject* o) {
    if (PyTuple_Check(o) || PyList_Check(o)) {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) consider(PySequence_Fast_GET_ITEM(o, i));
    } else {
      consider(o);
    }
  }
  const std::vector<PyObject*>& list() const { return list_; }
  // Functions written in Python warn as Python's own do.
  PyObject* kind_of_warning() const { return plain_too_ ? PyExc_DeprecationWarning : PyExc_UserWarning; }
  bool nobody() const { return list_.empty() && !thread_state().function_modes; }

 private:
  bool plain_too_;
  bool enabled_ = thread_state().overrides_enabled;
  std::vector<PyObject*> list_;
};

// A method of the object itself is taken, with a warning: it was once allowed.
void warn_if_plain(PyObject* method, PyObject* o, PyObject* category) {
  if (!PyMethod_Check(method) || PyMethod_GET_SELF(method) != o) return;
  if (PyErr_WarnEx(
          category,
          "Defining your `__torch_function__` as a plain method is deprecated and will be an error in "
          "future, please define it as a classmethod.",
          1) < 0)
    throw PythonError();
}

PyObject* ask(const Asked& asked, PyObject* function, const char* name, PyObject* args, PyObject* kwargs) {
  Owned types(PyTuple_New(Py_ssize_t(asked.list().size())));
  for (size_t i = 0; i < asked.list().size(); ++i)
    PyTuple_SET_ITEM(types.object, Py_ssize_t(i),
                     returned(reinterpret_cast<PyObject*>(Py_TYPE(asked.list()[i]))));
  if (thread_state().function_modes) {
    Owned result(PyObject_CallFunctionObjArgs(g_mode_handler, function, types.object, args, kwargs, nullptr));
    if (result.object != Py_NotImplemented) return returned(result.object);
  }
  for (PyObject* o : asked.list()) {
    Owned method(PyObject_GetAttr(o, attribute_name()));
    warn_if_plain(method.object, o, asked.kind_of_warning());
    Owned result(PyObject_CallFunctionObjArgs(method.object, function, types.object, args, kwargs, nullptr));
    if (result.object != Py_NotImplemented) return returned(result.object);
  }
  std::string lines;
  for (PyObject* o : asked.list()) {
    Owned text(PyObject_Repr(reinterpret_cast<PyObject*>(Py_TYPE(o))));
    lines += std::string("\n  - tensor subclass ") + PyUnicode_AsUTF8(text.object);
  }
  PyErr_Format(
      PyExc_TypeError,
      "Multiple dispatch failed for '%s'; all __torch_function__ handlers returned NotImplemented:\n%s", name,
      lines.c_str());
  throw PythonError();
}

// Functions that Python's syntax has another name for are given by the method's.
std::string method_for(const std::string& special) {
  static const std::map<std::string, std::string> methods = {{"__add__", "add"},
                                                             {"__radd__", "add"},
                                                             {"__sub__", "sub"},
                                                             {"__mul__", "mul"},
                                                             {"__rmul__", "mul"},
                                                             {"__truediv__", "div"},
                                                             {"__rtruediv__", "__rdiv__"},
                                                             {"__mod__", "remainder"},
                                                             {"__pow__", "pow"},
                                                             {"__rand__", "bitwise_and"},
                                                             {"__ror__", "bitwise_or"},
                                                             {"__rxor__", "bitwise_xor"},
                                                             {"__matmul__", "matmul"},
                                                             {"__ne__", "ne"},
                                                             {"__lt__", "lt"},
                                                             {"__le__", "le"},
                                                             {"__gt__", "gt"},
                                                             {"__ge__", "ge"},
                                                             {"__iadd__", "add_"},
                                                             {"__isub__", "sub_"},
                                                             {"__imul__", "mul_"},
                                                             {"__itruediv__", "div_"},
                                                             {"__imod__", "remainder_"},
                                                             {"__ifloordiv__", "floor_divide_"},
                                                             {"__ipow__", "pow_"},
                                                             {"__neg__", "neg"},
                                                             {"__pos__", "positive"},
                                                             {"__abs__", "abs"}};
  const auto found = methods.find(special);
  return found == methods.end() ? special : found->second;
}

Owned tensor_method(const std::string& name) {
  return Owned(PyObject_GetAttrString(reinterpret_cast<PyObject*>(g_tensor_type), name.c_str()));
}

}  // namespace

void remember_function(const std::string& name, PyObject* function) {
  functions()[name] = returned(function);
}

bool wants_override(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  if (type == g_tensor_type || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || o == Py_None ||
      PySlice_Check(o))
    return false;
  PyObject* found = _PyType_Lookup(type, attribute_name());
  return found && found != disabled_implementation();
}

PyObject* call_override(const char* name, PyObject* self, PyObject* const* args, Py_ssize_t count,
                        PyObject* keywords) {
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  Asked asked;
  if (self) asked.consider(self);
  for (Py_ssize_t i = 0; i < count + named; ++i) asked.consider_deep(args[i]);
  if (asked.nobody()) return nullptr;
  const Py_ssize_t own = self ? 1 : 0;
  Owned positional(PyTuple_New(count + own));
  if (self) PyTuple_SET_ITEM(positional.object, 0, returned(self));
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(positional.object, i + own, returned(args[i]));
  Owned kwargs(PyDict_New());
  for (Py_ssize_t i = 0; i < named; ++i)
    if (PyDict_SetItem(kwargs.object, PyTuple_GET_ITEM(keywords, i), args[count + i]) < 0)
      throw PythonError();
  const std::string public_name = std::string(self ? "torch.Tensor." : "torch.") + name;
  if (self) {
    const Owned function = tensor_method(name);
    return ask(asked, function.object, public_name.c_str(), positional.object, kwargs.object);
  }
  const auto found = functions().find(name);
  MT_CHECK(found != functions().end(), name, ": has no public function for __torch_function__ to be given");
  return ask(asked, found->second, public_name.c_str(), positional.object, kwargs.object);
}

PyObject* call_slot_override(const char* special, PyObject* a, PyObject* b) {
  Asked asked;
  asked.consider(a);
  if (b) asked.consider(b);
  if (asked.nobody()) return nullptr;
  std::string name = special;
  if (b && !is_tensor(a)) {  // 1 + x arrives as (1, x)
    name = "__r" + name.substr(2);
    std::swap(a, b);
  }
  const auto asked_for = [&](const std::string& method, PyObject* first, PyObject* second) {
    const Owned function = tensor_method(method);
    Owned args(second ? PyTuple_Pack(2, first, second) : PyTuple_Pack(1, first));
    Owned kwargs(PyDict_New());
    return ask(asked, function.object, ("torch.Tensor." + method).c_str(), args.object, kwargs.object);
  };
  // Where all decline the method, Python's syntax has the one of the other operand.
  const std::string other = std::string("__r") + (special + 2);
  const bool has_other = b && is_tensor(b) && (other == "__rpow__" || other == "__rfloordiv__");
  try {
    return asked_for(method_for(name), a, b);
  } catch (const PythonError&) {
    if (!has_other || name[2] == 'r' || !PyErr_ExceptionMatches(PyExc_TypeError)) throw;
    PyErr_Clear();
    return asked_for(other, b, a);
  }
}

PyObject* call_index_override(PyObject* self, PyObject* key, PyObject* value) {
  Asked asked;
  asked.consider(self);
  asked.consider_deep(key);
  if (value) asked.consider(value);
  if (asked.nobody()) return nullptr;
  const char* special = value ? "__setitem__" : "__getitem__";
  const Owned function = tensor_method(special);
  const Owned args(value ? PyTuple_Pack(3, self, key, value) : PyTuple_Pack(2, self, key));
  const Owned kwargs(PyDict_New());
  const std::string name = std::string("torch.Tensor.") + special;
  return ask(asked, function.object, name.c_str(), args.object, kwargs.object);
}

PyObject* ask_method(const char* name, PyObject* self, PyObject* const* args, Py_ssize_t count,
                     PyObject* keywords, bool& failed) {
  PyObject* done = guarded([&] { return call_override(name, self, args, count, keywords); });
  failed = !done && PyErr_Occurred();
  return done;
}

PyObject* ask_attribute(const char* name, PyObject* self, PyObject* value, bool& failed) {
  PyObject* done = guarded([&]() -> PyObject* {
    Asked asked;
    asked.consider(self);
    if (asked.nobody()) return nullptr;
    const char* special = value ? "__set__" : "__get__";
    const Owned attribute = tensor_method(name);
    const Owned function(PyObject_GetAttrString(attribute.object, special));
    const Owned args(value ? PyTuple_Pack(2, self, value) : PyTuple_Pack(1, self));
    const Owned kwargs(PyDict_New());
    const std::string shown = std::string("torch.Tensor.") + name + "." + special;
    return ask(asked, function.object, shown.c_str(), args.object, kwargs.object);
  });
  failed = !done && PyErr_Occurred();
  return done;
}

PyObject* decline_slot(const char* special, PyObject* a, PyObject* b) {
  if (PyObject* done = call_slot_override(special, a, b)) return done;
  Py_RETURN_NOTIMPLEMENTED;
}

bool is_array(PyObject* o) { return PyObject_HasAttrString(o, "__array_interface__"); }

Tensor array_operand(PyObject* o) {
  if (!is_array(o)) return Tensor();
  const Owned module(PyImport_ImportModule("mindtorch_v2._creation"));
  PyObject* made = PyObject_CallMethod(module.object, "_from_array", "O", o);
  if (made) return tensor_of(Owned(made).object);
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError();
  PyErr_Clear();
  return Tensor();
}

bool somebody_asks(PyObject* objects) {
  Asked asked;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(objects); ++i)
    asked.consider_deep(PyTuple_GET_ITEM(objects, i));
  return !asked.nobody();
}

PyObject* ask_for(PyObject* function, const char* name, PyObject* objects, PyObject* args, PyObject* kwargs) {
  Asked asked(true);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(objects); ++i)
    asked.consider_deep(PyTuple_GET_ITEM(objects, i));
  return ask(asked, function, name, args, kwargs);
}

int set_function_modes(int count) {
  const int before = std::exchange(thread_state().function_modes, count);
  g_threads_with_modes += (count > 0) - (before > 0);
  g_plain_type = g_threads_with_modes ? nullptr : g_tensor_type;
  g_quiet_type = g_threads_with_modes ? nullptr : g_subclass_to_be_quiet;
  return before;
}

void set_quiet_type(PyTypeObject* type) {
  Py_INCREF(type);
  g_subclass_to_be_quiet = type;
  if (!g_threads_with_modes) g_quiet_type = type;
}

void set_mode_handler(PyObject* handler) { Py_XSETREF(g_mode_handler, returned(handler)); }

}  // namespace mt::bindings
