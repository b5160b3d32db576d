// The ACLNN operators of the ABI description, by name (generated/npu/aclnn_table.cpp).
//
// A row knows what its operator takes and how to call its first phase with values whose types are known only at run
// time. The call is typed by the ABI header, so it is right on every platform; operators of one signature share it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "acl_abi.h"

namespace mt::npu::aclnn {

// What parameters take: every type of the description, without const. Pointers are descriptors, and may be null.
#define MT_ACLNN_KINDS(X)        \
  X(tensor, aclTensor*)          \
  X(scalar, aclScalar*)          \
  X(int_array, aclIntArray*)     \
  X(float_array, aclFloatArray*) \
  X(bool_array, aclBoolArray*)   \
  X(tensor_list, aclTensorList*) \
  X(scalar_list, aclScalarList*) \
  X(text, char*)                 \
  X(data_type, aclDataType)      \
  X(boolean, bool)               \
  X(integer, int)                \
  X(int8, int8_t)                \
  X(int32, int32_t)              \
  X(int64, int64_t)              \
  X(uint32, uint32_t)            \
  X(uint64, uint64_t)            \
  X(single, float)               \
  X(real, double)

#define X(kind, type) kind,
enum class Kind : uint8_t { MT_ACLNN_KINDS(X) };
#undef X

// As the description spells it: "aclTensor*", "int64_t".
const char* type_text(Kind kind);

// One argument. A bool or a data type is an integer, a float is real.
union Value {
  const void* pointer;
  int64_t integer;
  double real;
};

// Calls the first phase at `function` with a value for each parameter but the last two, which all operators have.
using Plan = aclnnStatus(void* function, const Value* values, uint64_t* workspace, aclOpExecutor** executor);

inline constexpr size_t kMostParameters = 64;

struct Operator {
  const char* name;
  const char* parameter_names;  // with a space between them
  const Kind* kinds;
  uint8_t count;
  Plan* plan;

  std::span<const Kind> parameters() const { return {kinds, count}; }
};

std::span<const Operator> operators();  // sorted by name

// --- what the rows are made of ---

template <Kind K> struct KindType;
#define X(kind, type)           \
  template <>                   \
  struct KindType<Kind::kind> { \
    using Type = type;          \
  };
MT_ACLNN_KINDS(X)
#undef X

template <class P> struct WithoutConst {
  using Type = P;
};
template <class T> struct WithoutConst<const T*> {
  using Type = T*;
};

template <class P>
P value_as(const Value& value) {
  if constexpr (std::is_pointer_v<P>) return static_cast<P>(const_cast<void*>(value.pointer));
  else if constexpr (std::is_floating_point_v<P>) return P(value.real);
  else return P(value.integer);
}

template <class Signature> struct FirstPhase;
template <class... P>
struct FirstPhase<aclnnStatus(P...)> {
  static constexpr size_t count = sizeof...(P) - 2;
  template <size_t I> using Parameter = std::tuple_element_t<I, std::tuple<P...>>;

  template <Kind... K>
  static consteval bool takes() {
    if constexpr (sizeof...(K) != count) return false;
    else
      return []<size_t... I>(std::index_sequence<I...>) {
        return (std::is_same_v<typename WithoutConst<Parameter<I>>::Type, typename KindType<K>::Type> && ...);
      }(std::make_index_sequence<count>());
  }

  static aclnnStatus plan(void* function, const Value* values, uint64_t* workspace,
                          aclOpExecutor** executor) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return reinterpret_cast<aclnnStatus (*)(P...)>(function)(value_as<Parameter<I>>(values[I])...,
                                                               workspace, executor);
    }(std::make_index_sequence<count>());
  }
};

template <Kind... K> inline constexpr std::array<Kind, sizeof...(K)> kKinds{K...};

template <class Signature, Kind... K>
consteval Operator row(const char* name, const char* parameter_names) {
  static_assert(sizeof...(K) <= kMostParameters);
  static_assert(FirstPhase<Signature>::template takes<K...>(), "the header has other parameters");
  return {name, parameter_names, kKinds<K...>.data(), sizeof...(K), FirstPhase<Signature>::plan};
}

}  // namespace mt::npu::aclnn
