// Makes the operators known by name (core/operators.h). Called once, when the library is loaded.
#pragma once

namespace mt {

void register_operators();

}  // namespace mt
