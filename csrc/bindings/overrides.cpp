#include "bindings/overrides.h"

#include "bindings/errors.h"
#include "bindings/parser.h"

namespace mt::bindings {
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
    PyObject* module = PyImport_ImportModule("mindtorch_v2._C");
    PyObject* function = module ? PyObject_GetAttrString(module, "_disabled_torch_function_impl") : nullptr;
    Py_XDECREF(module);
    if (!function) throw PythonError();
    return function;
  }();
  return found;
}

struct Owned {
  PyObject* object;
  explicit Owned(PyObject* o) : object(o) {
    if (!o) throw PythonError();
  }
  ~Owned() { Py_DECREF(object); }
  Owned(const Owned&) = delete;
};

// The arguments to ask: one per type, a subclass before what it derives from.
class Asked {
 public:
  void consider(PyObject* o) {
    if (!wants_override(o)) return;
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

 private:
  std::vector<PyObject*> list_;
};

PyObject* ask(const Asked& asked, PyObject* function, const char* name, PyObject* args, PyObject* kwargs) {
  Owned types(PyTuple_New(Py_ssize_t(asked.list().size())));
  for (size_t i = 0; i < asked.list().size(); ++i)
    PyTuple_SET_ITEM(types.object, Py_ssize_t(i),
                     returned(reinterpret_cast<PyObject*>(Py_TYPE(asked.list()[i]))));
  for (PyObject* o : asked.list()) {
    Owned method(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(o)), attribute_name()));
    Owned result(PyObject_CallFunctionObjArgs(method.object, function, types.object, args, kwargs, nullptr));
    if (result.object != Py_NotImplemented) return returned(result.object);
  }
  PyErr_Format(PyExc_TypeError,
               "no implementation found for 'torch.%s' on types that implement __torch_function__: %R", name,
               types.object);
  throw PythonError();
}

}  // namespace

void remember_function(const std::string& name, PyObject* function) {
  functions()[name] = returned(function);
}

bool wants_override(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  if (type == g_tensor_type || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || o == Py_None) return false;
  PyObject* found = _PyType_Lookup(type, attribute_name());
  return found && found != disabled_implementation();
}

PyObject* call_override(const char* name, PyObject* self, PyObject* const* args, Py_ssize_t count,
                        PyObject* keywords) {
  if (!thread_state().overrides_enabled) return nullptr;
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  Asked asked;
  if (self) asked.consider(self);
  for (Py_ssize_t i = 0; i < count + named; ++i) asked.consider_deep(args[i]);
  if (asked.list().empty()) return nullptr;
  const Py_ssize_t own = self ? 1 : 0;
  Owned positional(PyTuple_New(count + own));
  if (self) PyTuple_SET_ITEM(positional.object, 0, returned(self));
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(positional.object, i + own, returned(args[i]));
  Owned kwargs(PyDict_New());
  for (Py_ssize_t i = 0; i < named; ++i)
    if (PyDict_SetItem(kwargs.object, PyTuple_GET_ITEM(keywords, i), args[count + i]) < 0)
      throw PythonError();
  if (self) {
    Owned function(PyObject_GetAttrString(reinterpret_cast<PyObject*>(g_tensor_type), name));
    return ask(asked, function.object, name, positional.object, kwargs.object);
  }
  const auto found = functions().find(name);
  MT_CHECK(found != functions().end(), name, ": has no public function for __torch_function__ to be given");
  return ask(asked, found->second, name, positional.object, kwargs.object);
}

PyObject* call_slot_override(const char* special, PyObject* a, PyObject* b) {
  if (!thread_state().overrides_enabled) return nullptr;
  Asked asked;
  asked.consider(a);
  if (b) asked.consider(b);
  if (asked.list().empty()) return nullptr;
  std::string name = special;
  if (b && !is_tensor(a)) {  // 1 + x arrives as (1, x)
    name = "__r" + name.substr(2);
    std::swap(a, b);
  }
  Owned function(PyObject_GetAttrString(reinterpret_cast<PyObject*>(g_tensor_type), name.c_str()));
  Owned args(b ? PyTuple_Pack(2, a, b) : PyTuple_Pack(1, a));
  Owned kwargs(PyDict_New());
  return ask(asked, function.object, name.c_str(), args.object, kwargs.object);
}

}  // namespace mt::bindings
