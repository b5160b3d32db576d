// The one gate that every exported function passes: fault injection, the call trace, the call counter, the
// sanitizer, and the refusal to work in a forked child. When none is on, it costs one load and one branch.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "runtime/export.h"

namespace softnpu {

enum HookFlag : uint32_t { kFaults = 1, kTrace = 2, kCount = 4, kForked = 8, kSanitize = 16, kSchedule = 32 };

extern SOFTNPU_SHARED std::atomic<uint32_t> hook_flags;

enum class CallKind { ordinary, cleanup };

// Traces and counts a call; returns the code it must fail with (already recorded, with a message), or 0.
SOFTNPU_SHARED int on_call(const char* function, CallKind kind, const std::string& args);
// The same for an operator about to run on the device: only rules that start with "task:" apply.
SOFTNPU_SHARED int on_task(const char* name);
// A line of the trace that is written after the fact, when the arguments are known.
SOFTNPU_SHARED void trace_line(const char* function, const std::string& args);

inline bool hooked(uint32_t flags) { return (hook_flags.load(std::memory_order_relaxed) & flags) != 0; }

std::string SOFTNPU_SHARED json_text(std::string_view text);

template <class T>
std::string render_value(const T& value) {
  if constexpr (std::is_same_v<T, const char*> || std::is_same_v<T, char*>)
    return value == nullptr ? "null" : json_text(value);
  else if constexpr (std::is_pointer_v<T>)
    return "\"" + std::to_string(reinterpret_cast<uintptr_t>(value)) + "\"";
  else if constexpr (std::is_enum_v<T>) return std::to_string(static_cast<int64_t>(value));
  else return std::to_string(value);
}

// `names` is the text of the arguments, "size, policy"; the result is `"size": 512, "policy": 0`.
template <class... Values>
std::string render_args(std::string_view names, const Values&... values) {
  std::string text;
  [[maybe_unused]] auto one = [&](const std::string& value) {
    const size_t comma = names.find(',');
    if (!text.empty()) text += ", ";
    text += json_text(names.substr(0, comma)) + ": " + value;
    names.remove_prefix(comma == names.npos ? names.size() : std::min(comma + 2, names.size()));
  };
  (one(render_value(values)), ...);
  return text;
}

}  // namespace softnpu

#define SOFTNPU_ENTER_AS(kind, failed, function, ...)                                            \
  if (::softnpu::hooked(~0u)) [[unlikely]] {                                                     \
    const int injected =                                                                         \
        ::softnpu::on_call(#function, ::softnpu::CallKind::kind,                                 \
                           ::softnpu::hooked(::softnpu::kTrace)                                  \
                               ? ::softnpu::render_args(#__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__) \
                               : std::string());                                                 \
    if (injected != 0) return failed;                                                            \
  }

// First line of an exported function that returns a code: SOFTNPU_ENTER(aclrtMalloc, size, policy);
#define SOFTNPU_ENTER(function, ...) SOFTNPU_ENTER_AS(ordinary, injected, function __VA_OPT__(, ) __VA_ARGS__)
// The same for a function that gives something back.
#define SOFTNPU_ENTER_CLEANUP(function, ...) \
  SOFTNPU_ENTER_AS(cleanup, injected, function __VA_OPT__(, ) __VA_ARGS__)
// The same for a function that returns a pointer.
#define SOFTNPU_ENTER_POINTER(function, ...) \
  SOFTNPU_ENTER_AS(ordinary, nullptr, function __VA_OPT__(, ) __VA_ARGS__)
