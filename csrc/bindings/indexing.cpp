// x[...]: ints, slices, None and Ellipsis are a chain of views; index tensors, masks and sequences are collected on the
// way and applied to what the views leave, in one step.
#include "bindings/asking.h"
#include "bindings/decline_slot.h"
#include "bindings/owned.h"
#include "bindings/parser.h"
#include "core/transform.h"
#include "core/views.h"
#include "core/warn.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/view.h"

namespace mt::bindings {
namespace {

struct Items {
  PyObject* const* items;
  Py_ssize_t count;
};

// What has nobody to ask, seen from its type alone: almost every index.
bool is_plain(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  return type == g_tensor_type || type == &PyLong_Type || type == &PySlice_Type || o == Py_None ||
         o == Py_Ellipsis;
}
bool is_plain_key(PyObject* key) {
  if (!PyTuple_CheckExact(key)) return is_plain(key);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
    if (!is_plain(PyTuple_GET_ITEM(key, i))) return false;
  return true;
}

bool is_text(PyObject* o) { return PyUnicode_Check(o) || PyBytes_Check(o); }
bool is_sequence(PyObject* o) {
  return PyList_Check(o) || PyTuple_Check(o) || (PySequence_Check(o) && !is_text(o));
}

// A list of things that are more than numbers counts as a tuple, as numpy once had it.
bool stands_for_tuple(PyObject* key) {
  if (!PyList_Check(key) || PyList_GET_SIZE(key) >= 32) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(key); ++i) {
    PyObject* item = PyList_GET_ITEM(key, i);
    if (is_tensor(item) || is_sequence(item) || PySlice_Check(item) || item == Py_Ellipsis || item == Py_None)
      return true;
  }
  return false;
}

Items items_of(PyObject*& key) {
  if (PyTuple_Check(key)) return {&PyTuple_GET_ITEM(key, 0), PyTuple_GET_SIZE(key)};
  if (stands_for_tuple(key)) {
    warn(
        "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in "
        "pytorch "
        "2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
        "x[torch.tensor(seq)], which will result either in an error or a different result");
    return {&PyList_GET_ITEM(key, 0), PyList_GET_SIZE(key)};
  }
  return {&key, 1};
}

bool is_mask(const Tensor& t) { return t.dtype() == DType::boolean || t.dtype() == DType::uint8; }

[[noreturn]] void fail_index(PyObject* item) {
  fail(ErrorKind::index,
       "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
       "(got ",
       Py_TYPE(item)->tp_name, ")");
}

// Sequences and arrays as index tensors, by the rules of _creation.py.
Tensor tensor_from(PyObject* sequence) {
  static PyObject* convert = [] {
    const Owned module(PyImport_ImportModule("mindtorch_v2._creation"));
    return Owned(PyObject_GetAttrString(module.object, "_index_tensor")).release();
  }();
  const Owned made(PyObject_CallOneArg(convert, sequence));
  return tensor_of(made.object);
}

// A boolean that is no array adds a dimension: of size 1 if it is true, empty if it is false.
Tensor flag_index(bool value, Device device) {
  return ops::zeros(Dims{value ? 1 : 0}, {DType::int64, device});
}

std::optional<int64_t> slice_bound(PyObject* o) {
  if (o == Py_None) return std::nullopt;
  if (PyLong_Check(o)) return int64_t(PyNumber_AsSsize_t(o, nullptr));  // clips huge bounds
  MT_CHECK_AS(type, PyIndex_Check(o), "slice indices must be integers or None or have an __index__ method");
  const Owned number(PyNumber_Index(o));
  return int64_t(PyNumber_AsSsize_t(number.object, nullptr));
}

Tensor apply_slice(const Tensor& t, int64_t dim, PyObject* slice) {
  auto* s = reinterpret_cast<PySliceObject*>(slice);
  const auto start = slice_bound(s->start), end = slice_bound(s->stop), step = slice_bound(s->step);
  MT_CHECK_AS(value, step.value_or(1) != 0, "slice step cannot be zero");
  MT_CHECK_AS(value, step.value_or(1) > 0, "step must be greater than zero");
  return ops::slice(t, dim, start, end, step.value_or(1));
}

[[noreturn, gnu::cold, gnu::noinline]] void fail_scalar() {
  fail(ErrorKind::index,
       "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
       "convert "
       "a 0-dim tensor to a number");
}

Tensor apply_integer(const Tensor& t, int64_t dim, int64_t at, Py_ssize_t position) {
  const int64_t size = t.impl()->sizes()[dim];
  MT_CHECK_AS(index, at >= -size && at < size, "index ", at, " is out of bounds for dimension ", position,
              " with size ", size);
  return ops::select(t, dim, at);
}

// The views of an index and the tensors that remain to be applied to them.
class Indexed {
 public:
  Indexed(const Tensor& self, Items index) : out(self) {
    const int64_t wanted = count_dims(self, index);
    MT_CHECK_AS(index, wanted <= self.dim(), "too many indices for tensor of dimension ", self.dim());
    for (Py_ssize_t i = 0; i < index.count; ++i) add(index.items[i], i, self.dim() - wanted);
  }

  Tensor out;
  std::vector<Tensor> indices;  // undefined: the dimension stays as it is
  bool changed = false;         // `out` is no longer the tensor itself

 private:
  // How many dimensions the items take up. Sequences become tensors here, since a mask takes up several.
  int64_t count_dims(const Tensor& self, Items index) {
    int64_t count = 0;
    for (Py_ssize_t i = 0; i < index.count; ++i) {
      PyObject* item = index.items[i];
      if (item == Py_None || item == Py_Ellipsis || PyBool_Check(item)) continue;
      if (PyLong_Check(item) || PySlice_Check(item)) {
        ++count;
      } else if (is_tensor(item)) {
        count += is_mask(tensor_of(item)) ? tensor_of(item).dim() : 1;
      } else if (is_sequence(item) || is_text(item)) {
        converted_.push_back(tensor_from(item));
        count += is_mask(converted_.back()) ? converted_.back().dim() : 1;
      } else {
        ++count;
      }
    }
    if (count > 0 && self.dim() == 0) fail_scalar();
    return count;
  }

  void add(PyObject* item, Py_ssize_t position, int64_t unnamed) {
    if (PyBool_Check(item)) return add_flag(item == Py_True);
    if (PyLong_Check(item)) return select(integer_from(item), position);
    if (PySlice_Check(item)) {
      out = apply_slice(out, dim_++, item);
      changed = true;
    } else if (item == Py_None) {
      out = ops::unsqueeze(out, dim_++);
      changed = true;
    } else if (item == Py_Ellipsis) {
      MT_CHECK_AS(index, !seen_ellipsis_, "an index can only have a single ellipsis ('...')");
      seen_ellipsis_ = true;
      dim_ += unnamed;
    } else if (is_tensor(item)) {
      add_tensor(tensor_of(item), position);
    } else if (is_sequence(item)) {
      add_tensor(converted_[next_converted_++], position);
    } else if (PyIndex_Check(item)) {
      select(integer_from(item), position);
    } else {
      fail_index(item);
    }
  }

  void select(int64_t at, Py_ssize_t position) {
    out = apply_integer(out, dim_, at, position);
    changed = true;
  }

  void add_flag(bool value) {
    out = ops::unsqueeze(out, dim_);
    changed = true;
    record(flag_index(value, out.device()), 1);
  }

  void add_tensor(const Tensor& t, Py_ssize_t position) {
    if (t.dim() == 0 && !is_mask(t) && stands_for_batch(t)) return record(t, 1);  // each slice has its own
    if (t.dim() == 0 && is_mask(t)) return add_flag(item(t).to<bool>());
    if (t.dim() == 0 && is_integral(t.dtype(), false)) return select(item(t).to<int64_t>(), position);
    record(t, is_mask(t) ? t.dim() : 1);
  }

  void record(const Tensor& t, int64_t dims) {
    for (; covered_ < dim_; ++covered_) indices.emplace_back();
    MT_CHECK(t.device() == out.device() || t.device().is_cpu(),
             "indices should be either on cpu or on the same device as the indexed tensor (",
             name_of(out.device().type), ")");
    indices.push_back(t.device() == out.device() ? t : ops::_to_copy(t, std::nullopt, out.device()));
    covered_ = dim_ += dims;
  }

  int64_t dim_ = 0;      // the next dimension of `out`
  int64_t covered_ = 0;  // how many of them `indices` speaks of
  bool seen_ellipsis_ = false;
  std::vector<Tensor> converted_;
  size_t next_converted_ = 0;
};

// A value of one element fills; leading dims of size 1 are dropped, as numpy does.
Tensor value_for(const Tensor& target, PyObject* value) {
  if (!is_tensor(value)) {
    MT_CHECK_AS(type, is_number(value), "can't assign a ", Py_TYPE(value)->tp_name, " to a torch.",
                info(target.dtype()).legacy, "Tensor");
    Tensor number = ops::empty(IntList(), std::nullopt, {target.dtype(), target.device()});
    ops::fill_(number, number_from(value));
    return number;
  }
  Tensor source = tensor_of(value);
  if (source.device() != target.device() && source.dim() == 0)
    source = ops::_to_copy(source, std::nullopt, target.device());
  return source;
}

Tensor without_leading_ones(Tensor source, int64_t ndim) {
  while (source.dim() > ndim && source.sizes()[0] == 1) source = ops::squeeze(source, 0);
  return source;
}

void assign(const Tensor& target, PyObject* value) {
  if (!is_tensor(value) && is_number(value)) {
    ops::fill_(target, number_from(value));
    return;
  }
  const Tensor source = without_leading_ones(value_for(target, value), target.dim());
  const bool same = std::ranges::equal(source.sizes(), target.sizes());
  ops::copy_(target, same ? source : ops::expand(source, target.sizes(), true), false);
}

}  // namespace

PyObject* subscript(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* {
    const Tensor& tensor = tensor_of(self);
    if (may_ask(self)) [[unlikely]]
      if (PyObject* done = call_index_override(self, key, nullptr)) return done;
    if (PyLong_CheckExact(key)) {  // by far the most common: one int or one slice
      if (tensor.dim() == 0) fail_scalar();
      return wrap(apply_integer(tensor, 0, integer_from(key), 0));
    }
    if (PySlice_Check(key) && tensor.dim() > 0) return wrap(apply_slice(tensor, 0, key));
    if (!is_plain_key(key)) [[unlikely]]
      if (PyObject* done = call_index_override(self, key, nullptr)) return done;
    Indexed indexed(tensor, items_of(key));
    if (!indexed.indices.empty()) return wrap(ops::index(indexed.out, indexed.indices));
    return wrap(indexed.changed ? std::move(indexed.out) : ops::alias(tensor));
  });
}

int assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
  return guarded_int([&]() -> int {
    MT_CHECK_AS(type, value, "Tensor does not support deleting items");
    if (may_ask(self) || !is_plain_key(key) || !(is_plain(value) || PyFloat_CheckExact(value))) [[unlikely]] {
      if (PyObject* done = call_index_override(self, key, value)) {
        Py_DECREF(done);
        return 0;
      }
    }
    const Tensor& tensor = tensor_of(self);
    Indexed indexed(tensor, items_of(key));
    if (indexed.indices.empty()) {
      assign(indexed.changed ? indexed.out : ops::alias(tensor), value);
      return 0;
    }
    const Tensor source = value_for(indexed.out, value);
    ops::index_put_(indexed.out, indexed.indices, without_leading_ones(source, 0), false);
    return 0;
  });
}

}  // namespace mt::bindings
