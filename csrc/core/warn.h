// Warnings from code that knows no Python. The bindings say where they go.
#pragma once

#include <atomic>
#include <string>
#include <utility>

namespace mt {

// Set once, when the module is loaded; takes the GIL. A warning that the program has made an error throws.
extern void (*g_warn)(const std::string& text);

inline void warn(const std::string& text) {
  if (g_warn) g_warn(text);
}

// torch.set_warn_always: what is said once in a process is said every time.
extern std::atomic<bool> g_warn_always;

// Whether a warning that is given once is due.
inline bool first_time(bool& told) { return !std::exchange(told, true) || g_warn_always; }

}  // namespace mt
