// Makes the operators known by name (core/operators.h). Called once, when the library is loaded.
#pragma once

#include <span>

namespace mt {

void register_operators();

// A text about an operator, by its name and overload.
struct NamedText {
  const char* name;
  const char* overload;
  const char* text;
};

// What handlers see of rows that are not PyTorch's: Note [What handlers see] in _library/seen_as.py.
std::span<const NamedText> seen_as();
// What kinds of operators they are, in PyTorch's words: codegen/tags.py.
std::span<const NamedText> tags_of_operators();
// The schemas of operators that are composed in Python.
std::span<const NamedText> operators_in_python();

}  // namespace mt
