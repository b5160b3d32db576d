// Whether matrices of a batch failed, as an operator: handlers of tensors without memory decide what there is to check.
#pragma once

#include "core/value.h"

namespace mt {

// (Tensor info, str api_name, *, bool is_matrix) -> ()
Values linalg_check_errors(const Values& arguments);

}  // namespace mt
