#include "bindings/types.h"

#include <cstring>

#include "bindings/errors.h"
#include "bindings/overrides.h"
#include "bindings/owned.h"
#include "bindings/parser.h"
#include "core/accelerator.h"
#include "core/dispatch.h"

namespace mt::bindings {

PyTypeObject* g_dtype_type = nullptr;
PyTypeObject* g_device_type = nullptr;
PyTypeObject* g_memory_format_type = nullptr;
PyTypeObject* g_generator_type = nullptr;
PyObject* g_strided = nullptr;

namespace {

PyObject* g_dtypes[kDTypeCount];
constexpr const char* kMemoryFormats[] = {"contiguous_format", "preserve_format", "channels_last",
                                          "channels_last_3d"};
PyObject* g_memory_formats[std::size(kMemoryFormats)];
PyObject* g_size_type = nullptr;  // the Python class torch.Size

DType value_of(PyObject* self) { return reinterpret_cast<DTypeObject*>(self)->value; }
Device device_value(PyObject* self) { return reinterpret_cast<DeviceObject*>(self)->value; }
Generator& generator_value(PyObject* self) { return *reinterpret_cast<GeneratorObject*>(self)->value; }

// ---- dtype ----
PyObject* dtype_repr(PyObject* self) { return PyUnicode_FromFormat("torch.%s", info(value_of(self)).name); }
PyObject* dtype_reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(info(value_of(self)).name); }
PyObject* dtype_name(PyObject* self, void*) { return PyUnicode_FromString(info(value_of(self)).name); }
PyObject* dtype_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(itemsize(value_of(self))); }
PyObject* dtype_is_floating(PyObject* self, void*) { return PyBool_FromLong(is_floating(value_of(self))); }
PyObject* dtype_is_complex(PyObject* self, void*) { return PyBool_FromLong(is_complex(value_of(self))); }
PyObject* dtype_is_signed(PyObject* self, void*) { return PyBool_FromLong(info(value_of(self)).is_signed); }
PyObject* dtype_to_complex(PyObject* self, PyObject*) {
  return guarded([&] {
    const DType own = value_of(self);
    MT_CHECK(is_complex(own) || (is_floating(own) && itemsize(own) > 1), "Unknown Complex ScalarType for ",
             info(own).legacy);
    return dtype_object(complex_type(own));
  });
}
PyObject* dtype_to_real(PyObject* self, PyObject*) { return dtype_object(real_type(value_of(self))); }
PyObject* dtype_abbreviation(PyObject* self, void*) {
  switch (const DType own = value_of(self)) {
    case DType::boolean: return PyUnicode_FromString("b8");
    case DType::bfloat16: return PyUnicode_FromString("bf16");
    default:
      if (is_float8(own)) return PyUnicode_FromFormat("f8%s", info(own).name + std::strlen("float8_"));
      return PyUnicode_FromFormat("%c%zu", info(own).name[0], itemsize(own) * 8);
  }
}
PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
                               {"to_complex", dtype_to_complex, METH_NOARGS, nullptr},
                               {"to_real", dtype_to_real, METH_NOARGS, nullptr},
                               {nullptr, nullptr, 0, nullptr}};
PyGetSetDef dtype_properties[] = {
    {"name", dtype_name, nullptr, nullptr, nullptr},
    {"abbr", dtype_abbreviation, nullptr, nullptr, nullptr},
    {"itemsize", dtype_itemsize, nullptr, nullptr, nullptr},
    {"is_floating_point", dtype_is_floating, nullptr, nullptr, nullptr},
    {"is_complex", dtype_is_complex, nullptr, nullptr, nullptr},
    {"is_signed", dtype_is_signed, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

// ---- device ----
PyObject* device_repr(PyObject* self) {
  const Device d = device_value(self);
  if (d.index < 0) return PyUnicode_FromFormat("device(type='%s')", name_of(d.type));
  return PyUnicode_FromFormat("device(type='%s', index=%d)", name_of(d.type), int(d.index));
}
PyObject* device_str(PyObject* self) { return PyUnicode_FromString(to_string(device_value(self)).c_str()); }
PyObject* device_type(PyObject* self, void*) {
  return PyUnicode_FromString(name_of(device_value(self).type));
}
PyObject* device_index(PyObject* self, void*) {
  const Device d = device_value(self);
  if (d.index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(d.index);
}
Py_hash_t device_hash(PyObject* self) {
  return Py_hash_t(int(device_value(self).type) * 1000 + device_value(self).index + 7);
}
PyObject* device_compare(PyObject* a, PyObject* b, int operation) {
  if (Py_TYPE(a) != g_device_type || Py_TYPE(b) != g_device_type ||
      (operation != Py_EQ && operation != Py_NE))
    Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((device_value(a) == device_value(b)) == (operation == Py_EQ));
}
PyObject* device_new(PyTypeObject* cls, PyObject* args, PyObject* kwargs) {
  if (thread_state().function_modes) [[unlikely]]
    return guarded([&] {
      const Owned nobody(PyTuple_New(0)), named(kwargs ? returned(kwargs) : PyDict_New());
      return ask_for(reinterpret_cast<PyObject*>(cls), "torch.device", nobody.object, args, named.object);
    });
  static const char* names[] = {"type", "index", nullptr};
  PyObject *type = nullptr, *index = Py_None;
  // device(device=0), the other of its two forms.
  PyObject* alone = kwargs ? PyDict_GetItemString(kwargs, "device") : nullptr;
  if (alone && PyTuple_GET_SIZE(args) == 0 && PyDict_GET_SIZE(kwargs) == 1) type = alone;
  else if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &type, &index))
    return nullptr;
  return guarded([&]() -> PyObject* {
    Device device = named_device(type);
    if (index != Py_None) {
      MT_CHECK(
          device.index < 0,
          "type (string) must not include an index because index was passed explicitly: ", to_string(device));
      const long value = PyLong_AsLong(index);
      if (value == -1 && PyErr_Occurred()) throw PythonError();
      MT_CHECK(value >= 0 && value < 128, "Device index must not be negative, got ", value);
      device.index = int8_t(value);
    }
    return device_object(device);
  });
}
PyObject* device_reduce(PyObject* self, PyObject*) {
  const Device d = device_value(self);
  PyObject* type = reinterpret_cast<PyObject*>(g_device_type);
  return d.index < 0 ? Py_BuildValue("O(s)", type, name_of(d.type))
                     : Py_BuildValue("O(si)", type, name_of(d.type), int(d.index));
}
PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr},
                                {nullptr, nullptr, 0, nullptr}};
PyGetSetDef device_properties[] = {
    {"type", device_type, nullptr, nullptr, nullptr},
    {"index", device_index, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

// ---- memory format ----
const char* format_name(PyObject* self) {
  return kMemoryFormats[int(reinterpret_cast<MemoryFormatObject*>(self)->value)];
}
PyObject* format_repr(PyObject* self) { return PyUnicode_FromFormat("torch.%s", format_name(self)); }
PyObject* format_reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(format_name(self)); }
PyMethodDef format_methods[] = {{"__reduce__", format_reduce, METH_NOARGS, nullptr},
                                {nullptr, nullptr, 0, nullptr}};

// ---- generator ----
void generator_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Ref<Generator>::release(reinterpret_cast<GeneratorObject*>(self)->value);
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* wrap_generator(PyTypeObject* type, GeneratorRef generator) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self) reinterpret_cast<GeneratorObject*>(self)->value = generator.detach();
  return self;
}
PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"device", nullptr};
  PyObject* device = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names), &device))
    return nullptr;
  return guarded([&] {
    const Device d =
        resolve_device(device && device != Py_None ? device_from_object(device) : Device{DeviceType::cpu});
    return wrap_generator(type, GeneratorRef::adopt(backend(d.type).new_generator(d.index)));
  });
}
PyObject* generator_manual_seed(PyObject* self, PyObject* seed) {
  return guarded([&]() -> PyObject* {
    MT_CHECK(PyIndex_Check(seed), "manual_seed expected a long, but got ", Py_TYPE(seed)->tp_name);
    PyObject* number = PyNumber_Index(seed);
    if (!number) throw PythonError();
    // From -2^63 to 2^64 - 1; negative seeds wrap, as in PyTorch.
    int overflow = 0;
    uint64_t value = uint64_t(PyLong_AsLongLongAndOverflow(number, &overflow));
    if (overflow > 0) value = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    if (PyErr_Occurred()) PyErr_Clear(), overflow = -1;
    MT_CHECK_AS(value, overflow >= 0, "Overflow when unpacking long long");
    Generator& g = generator_value(self);
    std::lock_guard lock(g.mutex);
    g.set_seed(value);
    Py_INCREF(self);
    return self;
  });
}
PyObject* generator_initial_seed(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(generator_value(self).seed());
}
PyObject* generator_state(PyObject* self, PyObject*) {
  return guarded([&] {
    Generator& g = generator_value(self);
    std::lock_guard lock(g.mutex);
    const std::string bytes = g.state();
    return PyBytes_FromStringAndSize(bytes.data(), Py_ssize_t(bytes.size()));
  });
}
PyObject* generator_set_state(PyObject* self, PyObject* state) {
  return guarded([&]() -> PyObject* {
    char* data;
    Py_ssize_t count;
    if (PyBytes_AsStringAndSize(state, &data, &count) < 0) throw PythonError();
    Generator& g = generator_value(self);
    std::lock_guard lock(g.mutex);
    g.set_state(std::string(data, size_t(count)));
    Py_RETURN_NONE;
  });
}
PyObject* generator_device(PyObject* self, void*) { return device_object(generator_value(self).device()); }
PyMethodDef generator_methods[] = {
    {"manual_seed", generator_manual_seed, METH_O, nullptr},
    {"initial_seed", generator_initial_seed, METH_NOARGS, nullptr},
    {"_state", generator_state, METH_NOARGS, nullptr},
    {"_set_state", generator_set_state, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef generator_properties[] = {{"device", generator_device, nullptr, nullptr, nullptr},
                                      {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyObject* default_generator(PyObject*, PyObject* device) {
  return guarded([&] {
    const Device d = resolve_device(device_from_object(device));
    return wrap_generator(g_generator_type, GeneratorRef::share(backend(d.type).default_generator(d.index)));
  });
}
PyObject* set_size_type(PyObject*, PyObject* type) {
  Py_INCREF(type);
  g_size_type = type;
  Py_RETURN_NONE;
}
PyObject* set_strided(PyObject*, PyObject* layout) {
  Py_INCREF(layout);
  g_strided = layout;
  Py_RETURN_NONE;
}
PyMethodDef module_functions[] = {
    {"_default_generator", default_generator, METH_O, nullptr},
    {"_set_size_type", set_size_type, METH_O, nullptr},
    {"_set_strided", set_strided, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyTypeObject* make_type(const char* name, size_t size, PyType_Slot* slots, unsigned flags) {
  PyType_Spec spec = {name, int(size), 0, Py_TPFLAGS_DEFAULT | flags, slots};
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

void* slot(auto* function) { return reinterpret_cast<void*>(function); }

}  // namespace

PyObject* dtype_object(DType dtype) {
  PyObject* object = g_dtypes[int(dtype)];
  Py_INCREF(object);
  return object;
}

PyObject* device_object(Device device) {
  auto* self = PyObject_New(DeviceObject, g_device_type);
  if (!self) throw PythonError();
  self->value = device;
  return reinterpret_cast<PyObject*>(self);
}

PyObject* memory_format_object(MemoryFormat format) {
  PyObject* object = g_memory_formats[int(format)];
  Py_INCREF(object);
  return object;
}

MemoryFormat memory_format_of(PyObject* o) {
  MT_CHECK_AS(type, Py_TYPE(o) == g_memory_format_type, "memory_format must be torch.memory_format, not ",
              Py_TYPE(o)->tp_name);
  return reinterpret_cast<MemoryFormatObject*>(o)->value;
}

bool is_dtype_like(PyObject* o) {
  return Py_TYPE(o) == g_dtype_type || o == reinterpret_cast<PyObject*>(&PyFloat_Type) ||
         o == reinterpret_cast<PyObject*>(&PyLong_Type) || o == reinterpret_cast<PyObject*>(&PyBool_Type) ||
         o == reinterpret_cast<PyObject*>(&PyComplex_Type);
}

DType dtype_of_object(PyObject* o) {
  if (Py_TYPE(o) == g_dtype_type) return value_of(o);
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::float64;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::int64;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::boolean;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::complex128;
  fail(ErrorKind::type, "dtype must be torch.dtype, not ", Py_TYPE(o)->tp_name);
}

bool is_device_like(PyObject* o) {
  return Py_TYPE(o) == g_device_type || PyUnicode_Check(o) || (PyLong_Check(o) && !PyBool_Check(o));
}

[[gnu::hot]] Device named_device(PyObject* o) {
  if (Py_TYPE(o) == g_device_type) return device_value(o);
  if (PyLong_Check(o)) {
    const long index = PyLong_AsLong(o);
    if (index == -1 && PyErr_Occurred()) throw PythonError();
    MT_CHECK(index >= 0 && index < 128, "Device index must not be negative, got ", index);
    return {main_accelerator(), int8_t(index)};
  }
  MT_CHECK_AS(type, PyUnicode_Check(o), "device must be a torch.device, a string or an index, not ",
              Py_TYPE(o)->tp_name);
  // A program names few devices, as constants of its code: the last string is remembered and kept alive.
  static PyObject* last_text = nullptr;
  static Device last_device;
  if (o == last_text) return last_device;
  Py_ssize_t length;
  const char* text = PyUnicode_AsUTF8AndSize(o, &length);
  if (!text) throw PythonError();
  const Device device = parse_device(std::string(text, size_t(length)));
  Py_INCREF(o);
  Py_XDECREF(std::exchange(last_text, o));
  return last_device = device;
}

namespace {

// Refuses a device that no tensor can be on.
Device usable(Device device) {
  if (int(device.type) < kDeviceTypes) return device;
  std::string name = name_of(device.type);
  if (name == "cuda" || name == "xpu") {
    for (char& letter : name) letter = char(std::toupper(letter));
    PyErr_Format(PyExc_AssertionError, "Torch not compiled with %s enabled", name.c_str());
  } else {
    PyErr_Format(PyExc_RuntimeError, "PyTorch is not linked with support for %s devices", name.c_str());
  }
  throw PythonError();
}

}  // namespace

[[gnu::hot]] Device device_from_object(PyObject* o) { return usable(named_device(o)); }

Device device_of_type(const char* type, std::optional<Device> named) {
  const Device current = parse_device(type);
  MT_CHECK(!named || named->type == current.type, "Invalid device, must be ", type, " device");
  return usable(named.value_or(current));
}

PyObject* size_object(IntList sizes) {
  auto* type = reinterpret_cast<PyTypeObject*>(g_size_type);
  PyObject* tuple = type->tp_alloc(type, Py_ssize_t(sizes.size()));
  if (!tuple) throw PythonError();
  for (size_t i = 0; i < sizes.size(); ++i)
    PyTuple_SET_ITEM(tuple, Py_ssize_t(i), PyLong_FromLongLong(sizes[i]));
  return tuple;
}

bool create_value_types(PyObject* module) {
  PyType_Slot dtype_slots[] = {{Py_tp_repr, slot(dtype_repr)},
                               {Py_tp_methods, dtype_methods},
                               {Py_tp_getset, dtype_properties},
                               {0, nullptr}};
  g_dtype_type =
      make_type("mindtorch_v2.dtype", sizeof(DTypeObject), dtype_slots, Py_TPFLAGS_DISALLOW_INSTANTIATION);
  PyType_Slot device_slots[] = {{Py_tp_repr, slot(device_repr)},   {Py_tp_str, slot(device_str)},
                                {Py_tp_hash, slot(device_hash)},   {Py_tp_richcompare, slot(device_compare)},
                                {Py_tp_new, slot(device_new)},     {Py_tp_methods, device_methods},
                                {Py_tp_getset, device_properties}, {0, nullptr}};
  g_device_type = make_type("mindtorch_v2.device", sizeof(DeviceObject), device_slots, 0);
  PyType_Slot format_slots[] = {
      {Py_tp_repr, slot(format_repr)}, {Py_tp_methods, format_methods}, {0, nullptr}};
  g_memory_format_type = make_type("mindtorch_v2.memory_format", sizeof(MemoryFormatObject), format_slots,
                                   Py_TPFLAGS_DISALLOW_INSTANTIATION);
  PyType_Slot generator_slots[] = {{Py_tp_dealloc, slot(generator_dealloc)},
                                   {Py_tp_new, slot(generator_new)},
                                   {Py_tp_methods, generator_methods},
                                   {Py_tp_getset, generator_properties},
                                   {0, nullptr}};
  g_generator_type =
      make_type("mindtorch_v2.Generator", sizeof(GeneratorObject), generator_slots, Py_TPFLAGS_BASETYPE);
  if (!g_dtype_type || !g_device_type || !g_memory_format_type || !g_generator_type) return false;
  for (int i = 0; i < kDTypeCount; ++i) {
    auto* object = PyObject_New(DTypeObject, g_dtype_type);
    if (!object) return false;
    object->value = DType(i);
    g_dtypes[i] = reinterpret_cast<PyObject*>(object);
    if (PyModule_AddObjectRef(module, info(DType(i)).name, g_dtypes[i]) < 0) return false;
  }
  for (size_t i = 0; i < std::size(kMemoryFormats); ++i) {
    auto* object = PyObject_New(MemoryFormatObject, g_memory_format_type);
    if (!object) return false;
    object->value = MemoryFormat(i);
    g_memory_formats[i] = reinterpret_cast<PyObject*>(object);
    if (PyModule_AddObjectRef(module, kMemoryFormats[i], g_memory_formats[i]) < 0) return false;
  }
  return PyModule_AddObjectRef(module, "memory_format", reinterpret_cast<PyObject*>(g_memory_format_type)) ==
             0 &&
         PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject*>(g_dtype_type)) == 0 &&
         PyModule_AddObjectRef(module, "device", reinterpret_cast<PyObject*>(g_device_type)) == 0 &&
         PyModule_AddObjectRef(module, "Generator", reinterpret_cast<PyObject*>(g_generator_type)) == 0 &&
         PyModule_AddFunctions(module, module_functions) == 0;
}

}  // namespace mt::bindings
