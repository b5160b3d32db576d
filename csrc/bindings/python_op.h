// Operators composed in Python: src/mindtorch_v2/_composed/. The parser reads their arguments as it does for every
// operator, so overloads, keywords and error messages are the same.
#pragma once

#include "bindings/parser.h"
#include "core/observe.h"
#include "ops/autocast.h"

namespace mt::bindings {

class PythonOp {
 public:
  // The function `function` of _composed/<area>.py, which takes its arguments by the schema's names.
  PythonOp(const char* module, const char* function, const char* name,
           std::initializer_list<const char*> names, autocast::Policies policies = {});

  // `first`, if given, takes the place of the first argument.
  PyObject* call(const Bound& bound, PyObject* first = nullptr) const;
  PyObject* named(const Bound& bound, PyTypeObject* type) const;  // a tuple with names
  PyObject* in_place(const Bound& bound) const;                   // over the first argument
  // Over out=; `words` refuse one of another dtype (ops/out_dtype.h).
  PyObject* into(const Bound& bound, int out, int results, std::string_view words = {}) const;

 private:
  PyObject* run(const Bound& bound, PyObject* first, const autocast::Cast* cast) const;
  std::vector<ObservedArgument> shown_arguments(const Bound& bound) const;

  const char* module_;
  const char* function_;
  OpInfo info_;
  autocast::Policies policies_;
  std::vector<PyObject*> names_;
  mutable PyObject* callable_ = nullptr;  // found at the first call; kept for the life of the process
};

}  // namespace mt::bindings
