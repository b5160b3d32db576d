// Values of schemas (core/value.h) as Python's objects.
#pragma once

#include "bindings/tensor_object.h"
#include "core/value.h"

namespace mt::bindings {

PyObject* to_python(const Value& value);  // lists become lists

}  // namespace mt::bindings
