// The named tuple types of operators' results, by name: torch.return_types.max.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "bindings/errors.h"

namespace mt::bindings {

// A type is made when it is first asked for; a function and its method have the same one.
void declare_return_type(const char* name, std::initializer_list<const char*> fields);
PyTypeObject* return_type_named(const std::string& name);  // null if no operator has it
std::vector<std::string> return_type_names();

}  // namespace mt::bindings
