// Exceptions that carry PyTorch's exception types across the C++/Python boundary.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace mt {

enum class ErrorKind {
  runtime,
  type,
  value,
  index,
  not_implemented,
  out_of_memory,
  overflow,
  buffer,
  linear_algebra
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

template <class... Parts>
std::string join_text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(ErrorKind kind, const Parts&... parts) {
  throw Error(kind, join_text(parts...));
}

// check(condition, "parts of", " a message") throws RuntimeError, as PyTorch's TORCH_CHECK does.
#define MT_CHECK(condition, ...)                         \
  do {                                                   \
    if (!(condition)) [[unlikely]]                       \
      ::mt::fail(::mt::ErrorKind::runtime, __VA_ARGS__); \
  } while (0)

#define MT_CHECK_AS(kind_name, condition, ...)             \
  do {                                                     \
    if (!(condition)) [[unlikely]]                         \
      ::mt::fail(::mt::ErrorKind::kind_name, __VA_ARGS__); \
  } while (0)

}  // namespace mt
