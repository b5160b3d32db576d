// Calls of Python functions for the profiler, seen through the interpreter's profile function.
#pragma once

#include <string>
#include <vector>

namespace mt::bindings {

// The running threads report their calls to the recorder from now on. Those that another tool profiles are left to it.
void watch_python_calls();
// A thread that was started later joins; if nobody watches any more, it stops being profiled.
void watch_python_calls_here();
void unwatch_python_calls();
// Functions in files that begin so, and the native functions they call, are not reported.
void hide_python_calls(std::vector<std::string> places);

}  // namespace mt::bindings
