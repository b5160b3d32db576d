#include "bindings/python_op.h"

#include "autograd/node.h"
#include "bindings/owned.h"
#include "ops/out_dtype.h"
#include "ops/results.h"

namespace mt::bindings {
namespace {

const Tensor& expect_tensor(PyObject* object, const char* name) {
  MT_CHECK_AS(type, is_tensor(object), name, ": composed in Python, gave a ", Py_TYPE(object)->tp_name,
              " where a Tensor belongs");
  return tensor_of(object);
}

// The results of an operator that has several: exactly `count`.
Owned expect_results(const Owned& made, Py_ssize_t count, const char* name) {
  Owned items(PySequence_Fast(made.object, "an operator with several results gave no tuple"));
  MT_CHECK_AS(type, PySequence_Fast_GET_SIZE(items.object) == count, name, ": composed in Python, gave ",
              PySequence_Fast_GET_SIZE(items.object), " results where ", count, " belong");
  return items;
}

// results::own for what Python made.
PyObject* own(PyObject* made) {
  if (is_tensor(made)) results::forget_temporary(tensor_of(made));
  for (Py_ssize_t i = 0; PyTuple_Check(made) && i < PyTuple_GET_SIZE(made); ++i)
    if (PyObject* each = PyTuple_GET_ITEM(made, i); is_tensor(each))
      results::forget_temporary(tensor_of(each));
  return made;
}

}  // namespace

PythonOp::PythonOp(const char* module, const char* function, const char* name,
                   std::initializer_list<const char*> names, autocast::Policies policies)
    : module_(module), function_(function), info_{name, ""}, policies_(policies) {
  for (const char* n : names) names_.push_back(Owned(PyUnicode_InternFromString(n)).release());
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
    const Owned module(PyImport_ImportModule(path.c_str()));
    callable_ = Owned(PyObject_GetAttrString(module.object, function_)).release();
  }
  const std::vector<ObservedArgument> shown =
      observer() ? shown_arguments(bound) : std::vector<ObservedArgument>();
  OpScope scope(info_, ObservedArguments(shown));
  if (autocast::active()) [[unlikely]] {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < names_.size(); ++i)
      if (bound.given(int(i)) && is_tensor(bound.at(int(i)))) tensors.push_back(bound.tensor(int(i)));
    const autocast::Cast cast(function_, policies_, {}, {tensors});
    if (cast.applies()) return own(run(bound, first, &cast));
  }
  return own(run(bound, first, nullptr));
}

PyObject* PythonOp::run(const Bound& bound, PyObject* first, const autocast::Cast* cast) const {
  std::vector<Owned> kept;
  std::vector<PyObject*> values, passed;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (!bound.passed(int(i))) continue;
    if (cast && is_tensor(bound.at(int(i)))) kept.emplace_back(wrap((*cast)(bound.tensor(int(i)))));
    else kept.emplace_back(i == 0 && first ? returned(first) : bound.object(int(i)));
    values.push_back(kept.back().object);
    passed.push_back(names_[i]);
  }
  const Owned names(PyTuple_New(Py_ssize_t(passed.size())));
  for (size_t i = 0; i < passed.size(); ++i)
    PyTuple_SET_ITEM(names.object, Py_ssize_t(i), returned(passed[i]));
  return Owned(PyObject_Vectorcall(callable_, values.data(), 0, names.object)).release();
}

PyObject* PythonOp::named(const Bound& bound, PyTypeObject* type) const {
  Owned result(PyStructSequence_New(type));
  const Owned made(call(bound));
  const Owned items = expect_results(made, Py_SIZE(result.object), info_.name);
  for (Py_ssize_t i = 0; i < Py_SIZE(result.object); ++i)
    PyStructSequence_SetItem(result.object, i, returned(PySequence_Fast_GET_ITEM(items.object, i)));
  return result.release();
}

PyObject* PythonOp::in_place(const Bound& bound) const {
  const Tensor& self = tensor_of(bound.at(0));
  autograd::check_inplace(self);
  bool needs_grad = false;
  for (size_t i = 0; i < names_.size(); ++i)
    if (bound.given(int(i)) && is_tensor(bound.at(int(i))))
      needs_grad |= autograd::any_needs_grad(tensor_of(bound.at(int(i))));
  const Owned before(wrap(results::before_write(self, needs_grad)));
  const Owned made(call(bound, before.object));
  results::write_back(self, expect_tensor(made.object, info_.name));
  return returned(bound.at(0));
}

PyObject* PythonOp::into(const Bound& bound, int out, int results, std::string_view words) const {
  auto refuse_gradient = [&](const Tensor& t) {
    MT_CHECK(!autograd::any_needs_grad(t), info_.name + 6,
             "(): functions with out=... arguments don't support automatic differentiation, but one of the "
             "arguments requires grad.");
  };
  for (int i = 0; i < out; ++i)
    if (bound.given(i) && is_tensor(bound.at(i))) refuse_gradient(tensor_of(bound.at(i)));
  const Owned made(call(bound));
  if (results == 1) {
    const Tensor& target = bound.tensor(out);
    refuse_gradient(target);
    const Tensor& result = expect_tensor(made.object, info_.name);
    if (!words.empty()) results::require_dtype(target, result.dtype(), words);
    results::write_out(target, result);
    return returned(bound.at(out));
  }
  const std::vector<Tensor> targets = bound.out_tensors(out, results);
  const Owned items = expect_results(made, results, info_.name);
  for (int i = 0; i < results; ++i) {
    refuse_gradient(targets[size_t(i)]);
    results::write_out(targets[size_t(i)],
                       expect_tensor(PySequence_Fast_GET_ITEM(items.object, i), info_.name));
  }
  return returned(bound.at(out));
}

}  // namespace mt::bindings
