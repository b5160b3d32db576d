#include "bindings/python_op.h"

#include "autograd/node.h"
#include "autograd/write_results.h"

namespace mt::bindings {
namespace {

PyObject* owned(PyObject* object) {
  if (!object) throw PythonError();
  return object;
}

const Tensor& expect_tensor(PyObject* object, const char* name) {
  MT_CHECK_AS(type, is_tensor(object), name, ": composed in Python, gave a ", Py_TYPE(object)->tp_name,
              " where a Tensor belongs");
  return tensor_of(object);
}

struct Holder {
  PyObject* object;
  ~Holder() { Py_XDECREF(object); }
};

}  // namespace

PythonOp::PythonOp(const char* module, const char* function, const char* name,
                   std::initializer_list<const char*> names)
    : module_(module), function_(function), info_{name, ""} {
  for (const char* n : names) names_.push_back(owned(PyUnicode_InternFromString(n)));
}

std::vector<ObservedArgument> PythonOp::shown_arguments(const Bound& bound) const {
  std::vector<ObservedArgument> shown(names_.size());
  for (size_t i = 0; i < names_.size(); ++i)
    if (bound.given(int(i)) && is_tensor(bound.at(int(i)))) shown[i] = tensor_of(bound.at(int(i)));
  return shown;
}

PyObject* PythonOp::call(const Bound& bound, PyObject* first) const {
  if (!callable_) {
    const std::string path = std::string("mindtorch_v2._composed.") + module_;
    Holder module{owned(PyImport_ImportModule(path.c_str()))};
    callable_ = owned(PyObject_GetAttrString(module.object, function_));
  }
  const std::vector<ObservedArgument> shown =
      observer() ? shown_arguments(bound) : std::vector<ObservedArgument>();
  OpScope scope(info_, ObservedArguments(shown));
  Holder names{owned(PyTuple_New(0))};
  std::vector<PyObject*> values, passed;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (!bound.passed(int(i))) continue;
    values.push_back(i == 0 && first ? returned(first) : bound.object(int(i)));
    passed.push_back(names_[i]);
  }
  Py_DECREF(std::exchange(names.object, owned(PyTuple_New(Py_ssize_t(passed.size())))));
  for (size_t i = 0; i < passed.size(); ++i)
    PyTuple_SET_ITEM(names.object, Py_ssize_t(i), returned(passed[i]));
  PyObject* result = PyObject_Vectorcall(callable_, values.data(), 0, names.object);
  for (PyObject* value : values) Py_DECREF(value);
  return owned(result);
}

PyObject* PythonOp::named(const Bound& bound, PyTypeObject* type) const {
  Holder made{call(bound)};
  Holder items{owned(PySequence_Fast(made.object, "an operator with several results gave no tuple"))};
  PyObject* result = owned(PyStructSequence_New(type));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.object); ++i)
    PyStructSequence_SetItem(result, i, returned(PySequence_Fast_GET_ITEM(items.object, i)));
  return result;
}

PyObject* PythonOp::in_place(const Bound& bound) const {
  const Tensor& self = tensor_of(bound.at(0));
  autograd::check_inplace(self);
  bool needs_grad = false;
  for (size_t i = 0; i < names_.size(); ++i)
    if (bound.given(int(i)) && is_tensor(bound.at(int(i))))
      needs_grad |= autograd::any_needs_grad(tensor_of(bound.at(int(i))));
  Holder before{wrap(composite::before_write(self, needs_grad))};
  Holder made{call(bound, before.object)};
  composite::write_back(self, expect_tensor(made.object, info_.name));
  return returned(bound.at(0));
}

PyObject* PythonOp::into(const Bound& bound, int out, int results) const {
  auto refuse_gradient = [&](const Tensor& t) {
    MT_CHECK(!autograd::any_needs_grad(t), info_.name + 6,
             "(): functions with out=... arguments don't support automatic differentiation, but one of the "
             "arguments requires grad.");
  };
  for (int i = 0; i < out; ++i)
    if (bound.given(i) && is_tensor(bound.at(i))) refuse_gradient(tensor_of(bound.at(i)));
  Holder made{call(bound)};
  if (results == 1) {
    const Tensor& target = bound.tensor(out);
    refuse_gradient(target);
    composite::write_out(target, expect_tensor(made.object, info_.name));
    return returned(bound.at(out));
  }
  const std::vector<Tensor> targets = bound.out_tensors(out, results);
  Holder items{owned(PySequence_Fast(made.object, "an operator with several results gave no tuple"))};
  for (int i = 0; i < results; ++i) {
    refuse_gradient(targets[size_t(i)]);
    composite::write_out(targets[size_t(i)],
                         expect_tensor(PySequence_Fast_GET_ITEM(items.object, i), info_.name));
  }
  return returned(bound.at(out));
}

}  // namespace mt::bindings
