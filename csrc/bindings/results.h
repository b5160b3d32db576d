// Results of operators as Python objects.
#pragma once

#include <initializer_list>
#include <tuple>

#include "bindings/parser.h"
#include "bindings/tensor_object.h"
#include "core/dispatch.h"

namespace mt::bindings {

// A named tuple type such as torch.return_types.max; lives as long as the process.
PyTypeObject* return_type(const char* name, std::initializer_list<const char*> fields);
PyObject* wrap_named(PyTypeObject* type, std::initializer_list<Tensor> values);

template <class... T>
PyObject* wrap_named(PyTypeObject* type, std::tuple<T...>&& results) {
  return std::apply([type](auto&&... t) { return wrap_named(type, {t...}); }, std::move(results));
}

// Results without names.
template <class... T>
PyObject* wrap_tuple(std::tuple<T...>&& results) {
  return std::apply([](auto&&... t) { return wrap_list({std::move(t)...}); }, std::move(results));
}

// What nn.Module.to was asked for: (device, dtype, non_blocking, memory_format).
PyObject* parsed_to(std::optional<Device> device, std::optional<DType> dtype, bool non_blocking, bool copy,
                    std::optional<MemoryFormat> memory_format);

// A copy in pinned memory; takes the reference over.
PyObject* pinned(PyObject* tensor);

// A factory's result, pinned and with requires_grad set as asked.
inline PyObject* wrap_made(Tensor&& tensor, const TensorOptions& options) {
  if (options.pin_memory) [[unlikely]] {
    PyObject* made = pinned(wrap(std::move(tensor)));
    tensor_of(made).impl()->requires_grad = options.requires_grad;
    return made;
  }
  tensor.impl()->requires_grad = options.requires_grad;
  return wrap(std::move(tensor));
}

// out= of a factory decides dtype and device; options that say otherwise are refused.
void take_options_of(const Tensor& out, TensorOptions& options);
// Resized without a word, as no other out= is.
void write_made(const Tensor& out, const Tensor& made, const TensorOptions& options);
// The same for numbers in order, which fill an out= of as many elements in the shape that it has; `tells`: warns if it
// has another number of them.
void write_numbers(const Tensor& out, const Tensor& made, const TensorOptions& options, bool tells = false);

}  // namespace mt::bindings
