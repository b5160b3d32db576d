// x[...] with ints, slices, None and Ellipsis: a chain of views. Index tensors and masks belong to the index family.
#include "bindings/parser.h"
#include "core/views.h"
#include "generated/ops/ops.h"

namespace mt::bindings {
namespace {

struct Items {
  PyObject* const* items;
  Py_ssize_t count;
};

Items items_of(PyObject*& index) {
  if (PyTuple_Check(index)) return {&PyTuple_GET_ITEM(index, 0), PyTuple_GET_SIZE(index)};
  return {&index, 1};
}

bool is_index_integer(PyObject* o) {
  if (PyBool_Check(o)) return false;
  return PyLong_Check(o) || (PyIndex_Check(o) && !is_tensor(o)) ||
         (is_tensor(o) && tensor_of(o).dim() == 0 && is_integral(tensor_of(o).dtype(), false));
}

[[noreturn]] void fail_index(PyObject* item) {
  const bool text = PyUnicode_Check(item) || PyBytes_Check(item);
  if (!text && (is_tensor(item) || PyList_Check(item) || PyBool_Check(item) || PySequence_Check(item)))
    fail(ErrorKind::not_implemented, "indexing with ", is_tensor(item) ? "a tensor" : Py_TYPE(item)->tp_name,
         " is not supported yet; ints, slices, None and ... are");
  fail(ErrorKind::index,
       "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
       "(got ",
       Py_TYPE(item)->tp_name, ")");
}

Tensor apply_slice(const Tensor& t, int64_t dim, PyObject* slice) {
  auto* s = reinterpret_cast<PySliceObject*>(slice);
  auto bound = [](PyObject* o) -> std::optional<int64_t> {
    if (o == Py_None) return std::nullopt;
    PyObject* number = PyNumber_Index(o);
    if (!number) throw PythonError();
    const Py_ssize_t value = PyNumber_AsSsize_t(number, nullptr);  // clips huge bounds
    Py_DECREF(number);
    return int64_t(value);
  };
  const auto start = bound(s->start), end = bound(s->stop), step = bound(s->step);
  MT_CHECK_AS(value, step.value_or(1) > 0, "step must be greater than zero");
  return ops::slice(t, dim, start, end, step.value_or(1));
}

Tensor index(const Tensor& self, Items index) {
  int64_t consumed = 0;
  for (Py_ssize_t i = 0; i < index.count; ++i)
    consumed += index.items[i] != Py_None && index.items[i] != Py_Ellipsis;
  MT_CHECK_AS(index, consumed == 0 || self.dim() > 0,
              "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ "
              "to convert "
              "a 0-dim tensor to a number");
  MT_CHECK_AS(index, consumed <= self.dim(), "too many indices for tensor of dimension ", self.dim());
  Tensor out = self;
  int64_t dim = 0;
  bool changed = false, seen_ellipsis = false;
  for (Py_ssize_t i = 0; i < index.count; ++i) {
    PyObject* item = index.items[i];
    if (item == Py_Ellipsis) {
      MT_CHECK_AS(index, !seen_ellipsis, "an index can only have a single ellipsis ('...')");
      seen_ellipsis = true;
      dim += self.dim() - consumed;
    } else if (item == Py_None) {
      out = ops::unsqueeze(out, dim++);
      changed = true;
    } else if (PySlice_Check(item)) {
      out = apply_slice(out, dim++, item);
      changed = true;
    } else if (is_index_integer(item)) {
      const int64_t at = integer_from(item), size = out.sizes()[size_t(dim)];
      MT_CHECK_AS(index, at >= -size && at < size, "index ", at, " is out of bounds for dimension ", i,
                  " with size ", size);
      out = ops::select(out, dim, at);
      changed = true;
    } else {
      fail_index(item);
    }
  }
  return changed ? out : ops::alias(self);
}

}  // namespace

PyObject* subscript(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* { return wrap(index(tensor_of(self), items_of(key))); });
}

int assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
  return guarded_int([&]() -> int {
    MT_CHECK_AS(type, value, "Tensor does not support deleting items");
    const Tensor target = index(tensor_of(self), items_of(key));
    if (is_tensor(value)) {
      // Leading dims of size 1 in the value are dropped, as numpy does.
      Tensor source = tensor_of(value);
      while (source.dim() > target.dim() && source.sizes()[0] == 1) source = ops::squeeze(source, 0);
      const bool same = std::ranges::equal(source.sizes(), target.sizes());
      ops::copy_(target, same ? source : ops::expand(source, target.sizes(), true), false);
    } else {
      MT_CHECK_AS(type, is_number(value), "can't assign a ", Py_TYPE(value)->tp_name, " to a torch.",
                  info(target.dtype()).legacy, "Tensor");
      ops::fill_(target, number_from(value));
    }
    return 0;
  });
}

}  // namespace mt::bindings
