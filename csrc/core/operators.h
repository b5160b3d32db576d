// Every operator of the table by name, callable with values: for those who learn only at run time what to call.
#pragma once

#include "core/value.h"

namespace mt {

struct BatchRule;
struct ForwardRule;

struct Operator {
  const char* name;      // "aten::add"
  const char* overload;  // "Tensor"
  const char* schema;    // "(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
  Values (*call)(const Values& arguments);
  const BatchRule* batch = nullptr;      // how vmap runs it on batches; null: slice by slice
  const ForwardRule* forward = nullptr;  // its tangents from those of its arguments; null: by its gradient
};

// Null if there is none. `name` may be "aten::add" with the overload "Tensor".
const Operator* find_operator(std::string_view name, std::string_view overload);
std::span<const Operator> all_operators();                // in no order
void add_operators(std::span<const Operator> operators);  // at start-up; they live for ever
// At start-up, after all were added.
void set_batch_rule(std::string_view name, std::string_view overload, const BatchRule& rule);
void set_forward_rule(std::string_view name, std::string_view overload, const ForwardRule& rule);

// The function of ops:: with these parameters as Operator::call.
template <class R, class... P>
class With {
  static constexpr size_t kCount = sizeof...(P);
  static constexpr size_t kOptions = 4;  // of factories: dtype, layout, device, pin_memory, behind the others

  static void check_count(size_t given, size_t wanted) {
    MT_CHECK(given == wanted, "an operator of ", wanted, " arguments was called with ", given);
  }
  static TensorOptions options(const Values& arguments) {
    TensorOptions made;
    made.dtype = Unboxed<std::optional<DType>>::from(arguments[kCount]);
    made.device = Unboxed<std::optional<Device>>::from(arguments[kCount + 2]);
    made.pin_memory = Unboxed<std::optional<bool>>::from(arguments[kCount + 3]).value_or(false);
    return made;
  }

  template <class F, size_t... I>
  static Values run(F function, const Values& arguments, std::index_sequence<I...>) {
    Values results;
    if constexpr (std::is_void_v<R>) function(Unboxed<P>::from(arguments[I])...);
    else box_results(results, function(Unboxed<P>::from(arguments[I])...));
    return results;
  }

 public:
  template <R (*function)(P...)>
  static Values call(const Values& arguments) {
    check_count(arguments.size(), kCount);
    return run(function, arguments, std::index_sequence_for<P...>());
  }
  template <R (*function)(P..., const TensorOptions&)>
  static Values call_factory(const Values& arguments) {
    check_count(arguments.size(), kCount + kOptions);
    const TensorOptions given = options(arguments);
    return run([&](P... values) { return function(values..., given); }, arguments,
               std::index_sequence_for<P...>());
  }
};

}  // namespace mt
