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

using Value =
    std::variant<std::monostate,  // None
                 Tensor, std::vector<Tensor>, bool, int64_t, double, Scalar, Dims, std::vector<double>,
                 std::vector<Scalar>, std::string, DType, Device, MemoryFormat, Generator*>;
using Values = std::vector<Value>;

inline Value boxed(const Tensor& tensor) { return tensor.defined() ? Value(tensor) : Value(); }
inline Value boxed(TensorList tensors) { return std::vector<Tensor>(tensors.begin(), tensors.end()); }
inline Value boxed(bool value) { return value; }
inline Value boxed(int64_t value) { return value; }
inline Value boxed(double value) { return value; }
inline Value boxed(const Scalar& value) { return value; }
inline Value boxed(IntList list) { return Dims(list); }
inline Value boxed(const Dims& list) { return list; }
inline Value boxed(const DimList& list) { return list.present() ? Value(Dims(list.dims())) : Value(); }
inline Value boxed(std::span<const double> list) { return std::vector<double>(list.begin(), list.end()); }
inline Value boxed(const std::vector<double>& list) { return list; }
inline Value boxed(std::span<const Scalar> list) { return std::vector<Scalar>(list.begin(), list.end()); }
inline Value boxed(std::string_view text) { return std::string(text); }
inline Value boxed(DType dtype) { return dtype; }
inline Value boxed(Device device) { return device; }
inline Value boxed(MemoryFormat format) { return format; }
inline Value boxed(Generator* generator) { return generator ? Value(generator) : Value(); }
template <class T>
Value boxed(const std::optional<T>& value) {
  return value ? boxed(*value) : Value();
}

// An argument of type P of a call; what it refers to lives in the value, or as long as the call.
template <class P>
struct Unboxed;

inline bool is_none(const Value& value) { return std::holds_alternative<std::monostate>(value); }

template <>
struct Unboxed<const Tensor&> {
  static const Tensor& from(const Value& value) {
    static const Tensor none;
    return is_none(value) ? none : std::get<Tensor>(value);
  }
};
template <>
struct Unboxed<const DimList&> {
  static DimList from(const Value& value) {
    return is_none(value) ? DimList() : DimList(std::get<Dims>(value));
  }
};
template <>
struct Unboxed<Generator*> {
  static Generator* from(const Value& value) {
    return is_none(value) ? nullptr : std::get<Generator*>(value);
  }
};
// A number may come as any of Python's kinds.
template <>
struct Unboxed<const Scalar&> {
  static Scalar from(const Value& value) {
    if (const auto* number = std::get_if<bool>(&value)) return *number;
    if (const auto* number = std::get_if<int64_t>(&value)) return *number;
    if (const auto* number = std::get_if<double>(&value)) return *number;
    return std::get<Scalar>(value);
  }
};
template <>
struct Unboxed<double> {
  static double from(const Value& value) { return Unboxed<const Scalar&>::from(value).to<double>(); }
};

// Those that the value holds as they are.
template <class P, class Held>
struct UnboxedAs {
  static P from(const Value& value) { return P(std::get<Held>(value)); }
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

// Options of factories stand for four arguments: dtype, layout, device, pin_memory.
inline void box_argument(Values& into, const TensorOptions& options) {
  into.insert(into.end(), {boxed(options.dtype), Value(), boxed(options.device), Value(options.pin_memory)});
}
template <class T>
void box_argument(Values& into, const T& argument) {
  into.push_back(boxed(argument));
}
template <class... A>
Values boxed_arguments(const A&... arguments) {
  Values values;
  values.reserve(sizeof...(arguments));
  (box_argument(values, arguments), ...);
  return values;
}

inline void box_results(Values&) {}
template <class... T>
void box_results(Values& into, const std::tuple<T...>& results) {
  std::apply([&](const auto&... each) { (into.push_back(boxed(each)), ...); }, results);
}
inline void box_results(Values& into, const Tensor& result) { into.push_back(boxed(result)); }
inline void box_results(Values& into, const std::vector<Tensor>& results) {
  into.push_back(boxed(TensorList(results)));
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
  static Tensor from(Values&& values) { return std::get<Tensor>(std::move(values.at(0))); }
};
template <>
struct Results<std::vector<Tensor>> {
  static std::vector<Tensor> from(Values&& values) {
    return std::get<std::vector<Tensor>>(std::move(values.at(0)));
  }
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
