// Python types of the small values: dtype, device, memory_format, Size, Generator.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/generator.h"
#include "core/tensor.h"

namespace mt::bindings {

struct DTypeObject {
  PyObject_HEAD DType value;
};
struct DeviceObject {
  PyObject_HEAD Device value;
};
struct MemoryFormatObject {
  PyObject_HEAD MemoryFormat value;
};
struct GeneratorObject {
  PyObject_HEAD Generator* value;  // owned
};

extern PyTypeObject* g_dtype_type;
extern PyTypeObject* g_device_type;
extern PyTypeObject* g_memory_format_type;
extern PyTypeObject* g_generator_type;
extern PyObject* g_strided;  // torch.strided, the only layout there is

PyObject* dtype_object(DType dtype);  // a new reference to the singleton
PyObject* device_object(Device device);
PyObject* memory_format_object(MemoryFormat format);
DType dtype_of_object(PyObject* object);  // throws TypeError; Python's float, int, bool count too
bool is_dtype_like(PyObject* object);
bool is_device_like(PyObject* object);  // a device, a string, or an index
Device device_from_object(PyObject* object);
Device named_device(PyObject* object);  // also one that no tensor can be on
// What `x.<type>(device)` asks for: a device of that type and no other, the current one if none is named.
Device device_of_type(const char* type, std::optional<Device> named);
MemoryFormat memory_format_of(PyObject* object);  // throws TypeError
PyObject* size_object(IntList sizes);             // torch.Size

bool create_value_types(PyObject* module);

}  // namespace mt::bindings
