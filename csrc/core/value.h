// Arguments and results of operators whose types are known only when the program runs, and the way to them from C++'s
// types and back. Whoever stands between a caller and an operator (core/intercept.h) sees calls so.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "core/dispatch.h"
#include "core/generator.h"

namespace mt {

// Note [Values are compiled once]
// More than two hundred files see this header, and a variant of fifteen types costs each that copies, destroys or takes
// apart one more than a second to compile. So what touches the alternatives is written in value.cpp, here only declared;
// std::get_if, std::get and std::visit work on a Value as on the variant that it is.
using ValueVariant =
    std::variant<std::monostate,  // None
                 Tensor, std::vector<Tensor>, bool, int64_t, double, Scalar, Dims, std::vector<double>,
                 std::vector<Scalar>, std::string, DType, Device, MemoryFormat, Generator*>;

template <class T, class Variant>
inline constexpr bool is_alternative = false;
template <class T, class... Alternatives>
inline constexpr bool is_alternative<T, std::variant<Alternatives...>> =
    (std::is_same_v<T, Alternatives> || ...);

class Value : public ValueVariant {
 public:
  Value();
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  template <class T>
    requires is_alternative<T, ValueVariant>
  Value(T held);
};
using Values = std::vector<Value>;

Value boxed(const Tensor& tensor);
Value boxed(TensorList tensors);
Value boxed(bool value);
Value boxed(int64_t value);
Value boxed(double value);
Value boxed(const Scalar& value);
Value boxed(IntList list);
Value boxed(const Dims& list);
Value boxed(const DimList& list);
Value boxed(std::span<const double> list);
Value boxed(const std::vector<double>& list);
Value boxed(std::span<const Scalar> list);
Value boxed(std::string_view text);
Value boxed(DType dtype);
Value boxed(Device device);
Value boxed(MemoryFormat format);
Value boxed(Generator* generator);
template <class T>
Value boxed(const std::optional<T>& value) {
  return value ? boxed(*value) : Value();
}

// An argument of type P of a call; what it refers to lives in the value, or as long as the call.
template <class P>
struct Unboxed;

bool is_none(const Value& value);

template <>
struct Unboxed<const Tensor&> {
  static const Tensor& from(const Value& value);
};
template <>
struct Unboxed<const DimList&> {
  static DimList from(const Value& value);
};
template <>
struct Unboxed<Generator*> {
  static Generator* from(const Value& value);
};
// A number may come as any of Python's kinds.
template <>
struct Unboxed<const Scalar&> {
  static Scalar from(const Value& value);
};
template <>
struct Unboxed<double> {
  static double from(const Value& value);
};

// Those that the value holds as they are.
template <class P, class Held>
struct UnboxedAs {
  static P from(const Value& value);
};
template <>
struct Unboxed<TensorList> : UnboxedAs<TensorList, std::vector<Tensor>> {};
template <>
struct Unboxed<bool> : UnboxedAs<bool, bool> {};
template <>
struct Unboxed<int64_t> : UnboxedAs<int64_t, int64_t> {};
template <>
struct Unboxed<IntList> : UnboxedAs<IntList, Dims> {};
template <>
struct Unboxed<Dims> : UnboxedAs<Dims, Dims> {};
template <>
struct Unboxed<std::vector<double>> : UnboxedAs<std::vector<double>, std::vector<double>> {};
template <>
struct Unboxed<std::span<const double>> : UnboxedAs<std::span<const double>, std::vector<double>> {};
template <>
struct Unboxed<std::span<const Scalar>> : UnboxedAs<std::span<const Scalar>, std::vector<Scalar>> {};
template <>
struct Unboxed<std::string_view> : UnboxedAs<std::string_view, std::string> {};
template <>
struct Unboxed<DType> : UnboxedAs<DType, DType> {};
template <>
struct Unboxed<Device> : UnboxedAs<Device, Device> {};
template <>
struct Unboxed<MemoryFormat> : UnboxedAs<MemoryFormat, MemoryFormat> {};
template <>
struct Unboxed<Scalar> : Unboxed<const Scalar&> {};

template <class T>
struct Unboxed<std::optional<T>> {
  static std::optional<T> from(const Value& value) {
    return is_none(value) ? std::nullopt : std::optional<T>(Unboxed<T>::from(value));
  }
};
template <class T>
struct Unboxed<const std::optional<T>&> : Unboxed<std::optional<T>> {};

void append(Values& into, Value value);
Values with_room(size_t count);  // none yet

// Options of factories stand for four arguments: dtype, layout, device, pin_memory.
void box_argument(Values& into, const TensorOptions& options);
template <class T>
void box_argument(Values& into, const T& argument) {
  append(into, boxed(argument));
}
template <class... A>
Values boxed_arguments(const A&... arguments) {
  Values values = with_room(sizeof...(arguments));
  (box_argument(values, arguments), ...);
  return values;
}

inline void box_results(Values&) {}
template <class... T>
void box_results(Values& into, const std::tuple<T...>& results) {
  std::apply([&](const auto&... each) { (append(into, boxed(each)), ...); }, results);
}
inline void box_results(Values& into, const Tensor& result) { append(into, boxed(result)); }
inline void box_results(Values& into, const std::vector<Tensor>& results) {
  append(into, boxed(TensorList(results)));
}

// The results of a call as C++ has them.
template <class R>
struct Results;
template <>
struct Results<void> {
  static void from(Values&&) {}
};
template <>
struct Results<Tensor> {
  static Tensor from(Values&& values);
};
template <>
struct Results<std::vector<Tensor>> {
  static std::vector<Tensor> from(Values&& values);
};
template <class... T>
struct Results<std::tuple<T...>> {
  static std::tuple<T...> from(Values&& values) { return make(values, std::index_sequence_for<T...>()); }

 private:
  template <size_t... I>
  static std::tuple<T...> make(Values& values, std::index_sequence<I...>) {
    return {Unboxed<const Tensor&>::from(values.at(I))...};
  }
};

}  // namespace mt
