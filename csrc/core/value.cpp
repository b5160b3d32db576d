#include "core/value.h"

namespace mt {

Value::Value() = default;
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

template <class T>
  requires is_alternative<T, ValueVariant>
Value::Value(T held) : ValueVariant(std::in_place_type<T>, std::move(held)) {}
template Value::Value(Tensor);
template Value::Value(std::vector<Tensor>);
template Value::Value(bool);
template Value::Value(int64_t);
template Value::Value(double);
template Value::Value(Scalar);
template Value::Value(Dims);
template Value::Value(std::vector<double>);
template Value::Value(std::vector<Scalar>);
template Value::Value(std::string);
template Value::Value(DType);
template Value::Value(Device);
template Value::Value(MemoryFormat);
template Value::Value(Generator*);

Value boxed(const Tensor& tensor) { return tensor.defined() ? Value(tensor) : Value(); }
Value boxed(TensorList tensors) { return std::vector<Tensor>(tensors.begin(), tensors.end()); }
Value boxed(bool value) { return value; }
Value boxed(int64_t value) { return value; }
Value boxed(double value) { return value; }
Value boxed(const Scalar& value) { return value; }
Value boxed(IntList list) { return Dims(list); }
Value boxed(const Dims& list) { return list; }
Value boxed(const DimList& list) { return list.present() ? Value(Dims(list.dims())) : Value(); }
Value boxed(std::span<const double> list) { return std::vector<double>(list.begin(), list.end()); }
Value boxed(const std::vector<double>& list) { return list; }
Value boxed(std::span<const Scalar> list) { return std::vector<Scalar>(list.begin(), list.end()); }
Value boxed(std::string_view text) { return std::string(text); }
Value boxed(DType dtype) { return dtype; }
Value boxed(Device device) { return device; }
Value boxed(MemoryFormat format) { return format; }
Value boxed(Generator* generator) { return generator ? Value(generator) : Value(); }

bool is_none(const Value& value) { return std::holds_alternative<std::monostate>(value); }

const Tensor& Unboxed<const Tensor&>::from(const Value& value) {
  static const Tensor none;
  return is_none(value) ? none : std::get<Tensor>(value);
}
DimList Unboxed<const DimList&>::from(const Value& value) {
  return is_none(value) ? DimList() : DimList(std::get<Dims>(value));
}
Generator* Unboxed<Generator*>::from(const Value& value) {
  return is_none(value) ? nullptr : std::get<Generator*>(value);
}
Scalar Unboxed<const Scalar&>::from(const Value& value) {
  if (const auto* number = std::get_if<bool>(&value)) return *number;
  if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::get<Scalar>(value);
}
double Unboxed<double>::from(const Value& value) { return Unboxed<const Scalar&>::from(value).to<double>(); }

template <class P, class Held>
P UnboxedAs<P, Held>::from(const Value& value) {
  return P(std::get<Held>(value));
}
template struct UnboxedAs<TensorList, std::vector<Tensor>>;
template struct UnboxedAs<bool, bool>;
template struct UnboxedAs<int64_t, int64_t>;
template struct UnboxedAs<IntList, Dims>;
template struct UnboxedAs<Dims, Dims>;
template struct UnboxedAs<std::vector<double>, std::vector<double>>;
template struct UnboxedAs<std::span<const double>, std::vector<double>>;
template struct UnboxedAs<std::span<const Scalar>, std::vector<Scalar>>;
template struct UnboxedAs<std::string_view, std::string>;
template struct UnboxedAs<DType, DType>;
template struct UnboxedAs<Device, Device>;
template struct UnboxedAs<MemoryFormat, MemoryFormat>;

void append(Values& into, Value value) { into.push_back(std::move(value)); }
Values with_room(size_t count) {
  Values values;
  values.reserve(count);
  return values;
}

void box_argument(Values& into, const TensorOptions& options) {
  into.insert(into.end(), {boxed(options.dtype), Value(), boxed(options.device), Value(options.pin_memory)});
}

Tensor Results<Tensor>::from(Values&& values) { return std::get<Tensor>(std::move(values.at(0))); }
std::vector<Tensor> Results<std::vector<Tensor>>::from(Values&& values) {
  return std::get<std::vector<Tensor>>(std::move(values.at(0)));
}

}  // namespace mt
