// Overloads that PyTorch keeps for old programs: x.add_(2, y) for x.add_(y, alpha=2).
#pragma once

#include <optional>
#include <vector>

#include "bindings/parser.h"

namespace mt::bindings {

// A call in today's form. The keywords are a tuple that lives as long as the process.
struct ModernCall {
  std::vector<PyObject*> args;
  Py_ssize_t count;
  PyObject* keywords;
};

// Nothing if the call is none of the old ones. The first that is warns, with `signatures` as what to use instead.
std::optional<ModernCall> modern_call(const char* name, bool method, PyObject* const* args, Py_ssize_t count,
                                      const std::vector<Signature>& signatures);

}  // namespace mt::bindings
