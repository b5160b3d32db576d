// Warnings from code that knows no Python. The bindings say where they go.
#pragma once

#include <string>

namespace mt {

// Set once, when the module is loaded; takes the GIL. A warning that the program has made an error throws.
extern void (*g_warn)(const std::string& text);

inline void warn(const std::string& text) {
  if (g_warn) g_warn(text);
}

}  // namespace mt
