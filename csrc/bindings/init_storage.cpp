// Storage handles, tensors over storages, and numpy.
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "bindings/casters.h"
#include "bindings/parser.h"
#include "bindings/python_lock.h"
#include "bindings/storage_object.h"
#include "core/accelerator.h"
#include "core/copy_on_write.h"
#include "core/intercept_python.h"
#include "core/meta_memory.h"
#include "core/reach.h"
#include "core/shared_memory.h"
#include "core/sparse.h"
#include "core/transform.h"
#include "core/views.h"
#include "generated/ops/copy.h"
#include "kernels/common/parallel.h"

namespace nb = nanobind;

namespace mt::bindings {

namespace {

size_t checked_bytes(int64_t nbytes) {
  MT_CHECK(nbytes >= 0, "storage size must be non-negative, got ", nbytes);
  return size_t(nbytes);
}

StorageHandle new_handle(int64_t nbytes, Device device) {
  return {new_storage(resolve_device(device), checked_bytes(nbytes))};
}

StorageHandle new_shared(int64_t nbytes, bool named) {
  return {new_shared_storage(checked_bytes(nbytes), named)};
}

StorageHandle from_descriptor(int descriptor, int64_t nbytes) {
  return {map_descriptor(descriptor, checked_bytes(nbytes))};
}

StorageHandle from_shared_name(const std::string& name, int64_t nbytes) {
  return {map_shared_name(name, checked_bytes(nbytes))};
}

// The bytes as one flat uint8 tensor: copies between devices are then ordinary tensor copies.
Tensor bytes_of(const StorageRef& storage) {
  const int64_t n = int64_t(storage->nbytes), one = 1;
  return tensor_over(storage, DType::uint8, IntList(&n, 1), IntList(&one, 1), 0);
}

void copy_from(StorageHandle& self, const StorageHandle& other, bool non_blocking) {
  MT_CHECK(self.ref->nbytes == other.ref->nbytes, "storage sizes differ: cannot copy ", other.ref->nbytes,
           " bytes into ", self.ref->nbytes);
  ops::copy_(bytes_of(self.ref), bytes_of(other.ref), non_blocking);
}

// A part of a storage's memory, which keeps the storage alive.
StorageHandle window(const StorageHandle& self, size_t start, size_t nbytes) {
  const Storage& whole = *self.ref;
  MT_CHECK(whole.device.is_cpu() && start <= whole.nbytes && nbytes <= whole.nbytes - start, "a window of ",
           nbytes, " bytes from ", start, " on is not in a storage of ", whole.nbytes, " bytes on ",
           to_string(whole.device));
  before_write(*self.ref);
  auto kept = std::make_unique<StorageRef>(self.ref);
  StorageRef part = wrap_storage(
      {DeviceType::cpu}, static_cast<char*>(whole.data) + start, nbytes,
      [](Storage& s) { delete static_cast<StorageRef*>(s.context); }, kept.get());
  kept.release();
  part->resizable = false;
  return {std::move(part)};
}

uintptr_t data_pointer(const StorageHandle& self) {
  MT_CHECK(!self.ref->device.is_meta(),
           "Attempted to access the data pointer on a meta storage, which has no data");
  before_write(*self.ref);
  hand_over(self.ref->device);
  return reinterpret_cast<uintptr_t>(self.ref->data);
}

// A view of the memory holds the handle, and with it the storage.
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  const Storage& storage = *nb::inst_ptr<StorageHandle>(self)->ref;
  if (!storage.device.is_cpu()) {
    PyErr_Format(PyExc_BufferError, "only CPU storage can be seen as host memory, got %s",
                 to_string(storage.device).c_str());
    view->obj = nullptr;
    return -1;
  }
  static char nothing;
  void* data = storage.nbytes ? storage.data : &nothing;
  return PyBuffer_FillInfo(view, self, data, Py_ssize_t(storage.nbytes), 0, flags);
}
PyType_Slot storage_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)}, {0, nullptr}};

nb::object memory(nb::handle_t<StorageHandle> self) {
  before_write(*nb::inst_ptr<StorageHandle>(self)->ref);
  PyObject* view = PyMemoryView_FromObject(self.ptr());
  if (!view) throw nb::python_error();
  return nb::steal(view);
}

Tensor tensor_from_storage(const StorageHandle& storage, DType dtype, int64_t offset,
                           std::vector<int64_t> size, std::vector<int64_t> stride) {
  const int64_t count = int64_t(storage.ref->nbytes / itemsize(dtype)), one = 1;
  const Tensor whole = tensor_over(storage.ref, dtype, IntList(&count, 1), IntList(&one, 1), 0);
  return views::as_strided(whole, size, stride, offset);
}

// numpy's description of an array, for objects that share their memory with it: `__array_struct__`.
struct ArrayStruct {
  static constexpr int kAligned = 0x100, kNative = 0x200, kWriteable = 0x400;
  int two;  // the version
  int ndim;
  char kind;
  int itemsize;
  int flags;
  Py_ssize_t *shape, *strides;
  void* data;
  PyObject* fields;
};

char kind_of(DType dtype) {
  return dtype == DType::boolean ? 'b'
         : is_complex(dtype)     ? 'c'
         : is_floating(dtype)    ? 'f'
         : info(dtype).is_signed ? 'i'
                                 : 'u';
}

const DType* dtype_of_format(char kind, size_t size) {
  static constexpr DType all[] = {DType::uint8,     DType::int8,       DType::int16,   DType::int32,
                                  DType::int64,     DType::float16,    DType::float32, DType::float64,
                                  DType::complex64, DType::complex128, DType::boolean, DType::uint16,
                                  DType::uint32,    DType::uint64};
  for (const DType& t : all)
    if (kind_of(t) == kind && itemsize(t) == size) return &t;
  return nullptr;
}

// Shares the array's memory; the tensor keeps the array alive.
Tensor from_numpy(nb::object array) {
  const nb::object capsule = array.attr("__array_struct__");
  const auto* from = static_cast<const ArrayStruct*>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
  if (!from) throw nb::python_error();
  const DType* dtype = dtype_of_format(from->kind, size_t(from->itemsize));
  MT_CHECK_AS(type, dtype, "can't convert np.ndarray of type ", "numpy.",
              nb::str(nb::object(array.attr("dtype").attr("type").attr("__name__"))).c_str(),
              ". The only supported types are: float64, float32, float16, complex64, complex128, int64, "
              "int32, int16, int8, uint64, "
              "uint32, uint16, uint8, and bool.");
  MT_CHECK_AS(
      value, from->itemsize == 1 || (from->flags & ArrayStruct::kNative),
      "given numpy array has byte order different from the native byte order. Conversion between byte orders "
      "is currently "
      "not supported.");
  Dims sizes, strides;
  const int64_t size = int64_t(itemsize(*dtype));
  for (int d = 0; d < from->ndim; ++d) {
    sizes.push_back(from->shape[d]);
    const int64_t bytes = from->strides[d];
    MT_CHECK_AS(
        value, bytes >= 0,
        "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
        "currently supported. (You can probably work around this by making a copy of your array  with "
        "array.copy().) ");
    MT_CHECK_AS(value, bytes % size == 0,
                "given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
                "reallocate the memory.");
    strides.push_back(bytes / size);
  }
  const int64_t reach = checked_reach(sizes, strides, 0, size_t(size));
  StorageRef storage = wrap_storage(
      {DeviceType::cpu}, from->data, size_t(reach) * size_t(size),
      [](Storage& s) {
        const PythonLock gil;
        Py_DECREF(static_cast<PyObject*>(s.context));
      },
      array.inc_ref().ptr());
  storage->resizable = false;
  return tensor_over(std::move(storage), *dtype, sizes, strides, 0);
}

// What numpy needs to share a tensor's memory, as the capsule of `__array_struct__`; the caller keeps the tensor alive.
nb::object array_struct(const Tensor& t) {
  static constexpr const char* kTitles[] = {"Strided",   "Sparse",    "SparseCsr",
                                            "SparseCsc", "SparseBsr", "SparseBsc"};
  MT_CHECK_AS(type, layout_of(t) == Layout::strided, "can't convert ", kTitles[size_t(layout_of(t))],
              " layout tensor to numpy. Use Tensor.to_dense() first.");
  MT_CHECK(!(special(t) & kWithoutMemory), ".numpy() is not supported for tensor subclasses.");
  MT_CHECK_AS(type, t.device().is_cpu(), "can't convert ", to_string(t.device()),
              " device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.");
  MT_CHECK_AS(type, t.dtype() != DType::bfloat16, "Got unsupported ScalarType BFloat16");
  check_has_memory(t);
  check_reach(t);
  before_write(t.storage());
  t.storage().resizable = false;  // numpy's array would be left with memory that is gone
  // Sizes and strides lie behind the description.
  const size_t ndim = size_t(t.dim());
  auto* out = static_cast<ArrayStruct*>(std::malloc(sizeof(ArrayStruct) + 2 * ndim * sizeof(Py_ssize_t)));
  if (!out) throw std::bad_alloc();
  auto* sizes = reinterpret_cast<Py_ssize_t*>(out + 1);
  static char nothing;
  *out = {2,
          int(ndim),
          kind_of(t.dtype()),
          int(t.itemsize()),
          ArrayStruct::kAligned | ArrayStruct::kNative | ArrayStruct::kWriteable,
          sizes,
          sizes + ndim,
          t.numel() ? t.data() : &nothing,
          nullptr};
  for (size_t d = 0; d < ndim; ++d) {
    sizes[d] = t.sizes()[d];
    sizes[ndim + d] = t.strides()[d] * int64_t(t.itemsize());
  }
  PyObject* capsule =
      PyCapsule_New(out, nullptr, [](PyObject* self) { std::free(PyCapsule_GetPointer(self, nullptr)); });
  if (!capsule) {
    std::free(out);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

// A number as `dtype` will hold it. Integers beyond int64, which no Scalar holds, are at home in floating types.
Scalar storable(DType dtype, PyObject* number) {
  int overflow = 0;
  if (PyLong_Check(number)) PyLong_AsLongLongAndOverflow(number, &overflow);
  if (!overflow) return number_from(number);
  if (dtype == DType::boolean) return Scalar(true);
  MT_CHECK_AS(value, is_floating(dtype), "Overflow when unpacking long long");
  const double value = PyLong_AsDouble(number);
  if (value == -1.0 && PyErr_Occurred()) throw nb::python_error();
  return Scalar(value);
}

uintptr_t storage_address(const Tensor& t) {
  check_has_memory(t);
  return reinterpret_cast<uintptr_t>(&t.storage());
}

// For those who will only read there: nothing is copied.
uintptr_t data_address(const Tensor& t) {
  check_has_memory(t);
  hand_over(t.device());
  return t.device().is_meta() || t.numel() == 0 ? 0 : reinterpret_cast<uintptr_t>(t.data());
}

bool is_cow_tensor(const Tensor& t) {
  check_has_memory(t);
  return is_copy_on_write(t.storage());
}

// What a loop over several threads would do that asked for an address to write to; kernels are given theirs before.
Tensor parallel_materialize(const Tensor& t, int64_t parts, bool skip_first) {
  kernels::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    if (skip_first && begin == 0 && end == 1) return;
    MT_CHECK(
        !is_copy_on_write(t.storage()),
        "Materializing a storage in the loop function of a parallel_for is forbidden: threads of one loop "
        "would each replace its memory; ask for the address before the loop");
  });
  return t;
}

// A number of one of Python's own types that T can hold; others are left to store_number.
template <class T>
bool store_plain(PyObject* number, T& to) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!PyBool_Check(number)) return false;
    to = number == Py_True;
    return true;
  } else {
    const auto converted = [](auto value) {
      if constexpr (std::is_floating_point_v<T>) return T(value);
      else return Scalar(value).template to<T>();
    };
    if (PyFloat_CheckExact(number)) {
      if constexpr (std::is_integral_v<T>) return false;
      to = converted(PyFloat_AS_DOUBLE(number));
      return true;
    }
    if (!PyLong_Check(number)) return false;  // truth values are integers, too
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow) return false;
    if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<T>(value)) return false;
    }
    to = converted(value);
    return true;
  }
}

// Any number, of anybody's.
void store_number(DType dtype, PyObject* given, char* to) {
  if (dtype == DType::uint64 && PyLong_Check(given)) {
    const uint64_t value = PyLong_AsUnsignedLongLongMask(given);
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const bool tensor = is_tensor(given);
  MT_CHECK_AS(value, !tensor || tensor_of(given).numel() == 1,
              "only one element tensors can be converted to Python scalars");
  const nb::object number =
      !tensor && !PyComplex_CheckExact(given) && PyObject_HasAttrString(given, "__array_interface__")
          ? nb::object(nb::handle(given).attr("item")())
          : nb::borrow(given);
  const Scalar value = dtype == DType::boolean && PyComplex_Check(number.ptr())
                           ? Scalar(number_from(number.ptr()).to<complex128>() != complex128())
                           : storable(dtype, number.ptr());
  MT_CHECK_AS(type, !value.is_complex() || is_complex(dtype),
              is_floating(dtype) ? "must be real number, not complex"
                                 : "'complex' object cannot be interpreted as an integer");
  MT_CHECK(is_floating(dtype) || fits(value, dtype), "value cannot be converted to type ", info(dtype).name,
           " without overflow");
  switch (dtype) {
#define X(name, type, legacy) \
  case DType::name: *reinterpret_cast<type*>(to) = value.to<type>(); break;
    MT_FORALL_DTYPES(X)
#undef X
    default: fail(ErrorKind::type, "unsupported dtype");
  }
}

// One sequence after another into memory that is already there.
class ListReader {
 public:
  explicit ListReader(const Tensor& to) : to_(to), dtype_(to.dtype()), ndim_(size_t(to.dim())) {}

  void read(PyObject* data, char* to, size_t dim) const {
    if (dim == ndim_) return store_number(dtype_, data, to);
    PyObject* items = PySequence_Fast(data, "not a sequence");
    if (!items) throw PythonError();
    const nb::object keep = nb::steal(items);
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
    MT_CHECK_AS(value, n == to_.sizes()[dim], "expected sequence of length ", to_.sizes()[dim], " at dim ",
                dim, " (got ", n, ")");
    const int64_t step = to_.strides()[dim] * int64_t(to_.itemsize());
    if (dim + 1 < ndim_) {
      for (Py_ssize_t i = 0; i < n; ++i) read(at(items, i, n).ptr(), to + i * step, dim + 1);
      return;
    }
    switch (dtype_) {
#define X(name, type, legacy) \
  case DType::name: return read_numbers<type>(items, n, to, step);
      MT_FORALL_DTYPES(X)
#undef X
      default: fail(ErrorKind::type, "unsupported dtype");
    }
  }

 private:
  // What is asked for its value may change the list that it is in.
  static nb::object at(PyObject* items, Py_ssize_t i, Py_ssize_t n) {
    MT_CHECK(PySequence_Fast_GET_SIZE(items) == n, "the sequence changed its length while it was read");
    return nb::borrow(PySequence_Fast_GET_ITEM(items, i));
  }
  template <class T>
  void read_numbers(PyObject* items, Py_ssize_t n, char* to, int64_t step) const {
    for (Py_ssize_t i = 0; i < n; ++i, to += step) {
      const nb::object number = at(items, i, n);
      if (!store_plain(number.ptr(), *reinterpret_cast<T*>(to))) store_number(dtype_, number.ptr(), to);
    }
  }

  const Tensor& to_;
  const DType dtype_;
  const size_t ndim_;
};

// torch.tensor's inner loop.
void fill_from_list(const Tensor& t, nb::handle data) { ListReader(t).read(data.ptr(), t.data<char>(), 0); }

}  // namespace

void init_storage(nb::module_& m) {
  nb::class_<StorageHandle>(m, "_StorageHandle", nb::type_slots(storage_slots))
      .def_static("new", new_handle, nb::arg("nbytes"), nb::arg("device"))
      .def_static(
          "from_file",
          [](const std::string& path, bool shared, int64_t nbytes) {
            return StorageHandle{map_file(path, shared, nbytes)};
          },
          nb::arg("path"), nb::arg("shared"), nb::arg("nbytes"))
      .def_static("new_shared", new_shared, nb::arg("nbytes"), nb::arg("named"))
      .def_static("from_descriptor", from_descriptor, nb::arg("descriptor"), nb::arg("nbytes"))
      .def_static("from_shared_name", from_shared_name, nb::arg("name"), nb::arg("nbytes"))
      .def("nbytes", [](const StorageHandle& self) { return self.ref->nbytes; })
      .def("data_ptr", data_pointer)
      .def("window", window, nb::arg("start"), nb::arg("nbytes"))
      .def_prop_ro("device", [](const StorageHandle& self) { return self.ref->device; })
      .def("resize",
           [](StorageHandle& self, int64_t n) {
             const size_t nbytes = checked_bytes(n);
             if (nbytes < self.ref->nbytes) g_storages_shrank = true;
             resize_storage(*self.ref, nbytes);
           })
      .def("resizable", [](const StorageHandle& self) { return self.ref->resizable; })
      .def("share_memory", [](StorageHandle& self, bool named) { move_to_shared_memory(*self.ref, named); })
      .def("is_shared",
           [](const StorageHandle& self) { return self.ref->shared || self.ref->device.is_accelerator(); })
      .def("is_pinned", [](const StorageHandle& self) { return self.ref->pinned; })
      .def("filename",
           [](const StorageHandle& self) {
             const SharedObject* object = self.ref->object;
             return object && !object->name.empty() ? std::optional(object->name) : std::nullopt;
           })
      .def("descriptor",
           [](const StorageHandle& self) { return self.ref->object ? self.ref->object->descriptor : -1; })
      .def("is_named",
           [](const StorageHandle& self) { return self.ref->object && self.ref->object->counted; })
      .def("count_name", [](const StorageHandle& self, int change) { count_shared_name(*self.ref, change); })
      .def("buffer", memory)
      .def("copy_from", copy_from)
      .def_prop_ro("_cdata",
                   [](const StorageHandle& self) { return reinterpret_cast<uintptr_t>(self.ref.get()); })
      .def("use_count", [](const StorageHandle& self) { return self.ref->refs.load(); })
      .def("same", [](const StorageHandle& a, const StorageHandle& b) { return a.ref == b.ref; });
  m.def("_meta_memory", [] {
    const MetaMemory memory = meta_memory();
    const auto shares = [](const MetaShares& of) { return std::vector<int64_t>(of.begin(), of.end()); };
    return std::make_tuple(memory.peak, shares(memory.at_peak), shares(memory.highest));
  });
  m.def("_reset_meta_peak", reset_meta_peak);
  m.def("_set_meta_stands_for", [](const std::string& type, bool parts) {
    const MetaMeaning before = set_meta_meaning({parse_device(type).type, parts});
    return std::make_tuple(std::string(name_of(before.type)), before.parts);
  });
  m.def("_meta_stands_for", [] { return name_of(meta_meaning().type); });
  m.def("_record_meta_history", record_meta_history);
  m.def("_meta_history", [] {  // rows of four numbers, for numpy.frombuffer
    const std::vector<MetaEvent> events = meta_history();
    return nb::bytes(events.data(), events.size() * sizeof(MetaEvent));
  });
  m.def("_set_meta_purpose", set_meta_purpose);
  m.def("_set_meta_counted", set_meta_counted);
  m.def("_assign_meta_purpose",
        [](const Tensor& t, int purpose) { assign_meta_purpose(t.storage(), purpose); });
  m.def("tensor_from_storage", tensor_from_storage);
  m.def("_from_array", from_numpy);
  m.def("_array_struct", array_struct);
  m.def("_has_storage",
        [](const Tensor& t) { return !(special(t) & (kBatched | kSparse | kWithoutMemory)); });
  m.def("_storage_address", storage_address);
  m.def("_data_address", data_address);
  m.def("_is_cow_tensor", is_cow_tensor);
  m.def("_test_parallel_materialize", parallel_materialize, nb::arg("self"), nb::arg("num_parallel"),
        nb::arg("skip_first") = false);
  m.def("_fill_from_list", fill_from_list);
  m.def("_shallow_copy", [](const Tensor& t) { return shallow_copy(t); });
}

}  // namespace mt::bindings
