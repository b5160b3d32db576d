// Exceptions that carry PyTorch's exception types across the C++/Python boundary.
#pragma once

#include <initializer_list>
#include <ostream>
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

// A call of a device's driver that failed.
class DeviceError : public Error {
 public:
  DeviceError(int code, const std::string& message) : Error(ErrorKind::runtime, message), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

// A part of a message: anything that has an operator<<. Only a pointer and a function, so that the many messages of
// the project cost little to compile.
class TextPart {
 public:
  TextPart(const char* text) : value_(text), write_(write_text) {}
  template <class T>
  TextPart(const T& value) : value_(&value), write_(write<T>) {}

  void write_to(std::ostream& out) const { write_(out, value_); }

 private:
  template <class T>
  static void write(std::ostream& out, const void* value) {
    out << *static_cast<const T*>(value);
  }
  static void write_text(std::ostream& out, const void* text);

  const void* value_;
  void (*write_)(std::ostream& out, const void* value);
};

std::string joined(std::initializer_list<TextPart> parts);
[[noreturn]] void fail_with(ErrorKind kind, std::initializer_list<TextPart> parts);

template <class... Parts>
std::string join_text(const Parts&... parts) {
  return joined({TextPart(parts)...});
}

template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(ErrorKind kind, const Parts&... parts) {
  fail_with(kind, {TextPart(parts)...});
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
