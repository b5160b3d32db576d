#include "bindings/storage_object.h"

#include <nanobind/nanobind.h>
#include <structmember.h>

#include <unordered_map>

#include "bindings/errors.h"
#include "bindings/python_lock.h"
#include "core/storage_keeping.h"

namespace nb = nanobind;

namespace mt::bindings {
namespace {

struct StorageObject {
  PyObject_HEAD Storage* storage;  // null: a weak reference found the object after its storage was gone
  PyObject* dict;
  PyObject* weakrefs;
};

struct Known {
  StorageObject* object;
  bool kept;  // by its storage; otherwise the object holds the storage
};

PyTypeObject* g_storage_type = nullptr;
PyObject* g_plain_class = nullptr;              // torch.UntypedStorage, whose objects look all alike
std::unordered_map<Storage*, Known> g_objects;  // under the GIL
int g_kept = 0;

StorageObject* object_of(PyObject* self) { return reinterpret_cast<StorageObject*>(self); }

void release_kept(Storage* storage) {
  const PythonLock gil;
  const auto found = g_objects.find(storage);
  if (found == g_objects.end()) return;
  StorageObject* object = found->second.object;
  g_objects.erase(found);
  if (--g_kept == 0) g_release_kept_object = nullptr;
  object->storage = nullptr;
  Py_DECREF(reinterpret_cast<PyObject*>(object));
}

// The object holds its storage again; the reference that the storage had to the object is the caller's.
void take_back(Known& known) {
  known.kept = false;
  if (--g_kept == 0) g_release_kept_object = nullptr;
  known.object->storage->refs.fetch_add(1, std::memory_order_relaxed);
}

bool python_could_tell(StorageObject* self) {
  return self->weakrefs || (self->dict && PyDict_GET_SIZE(self->dict) > 0) ||
         reinterpret_cast<PyObject*>(Py_TYPE(self)) != g_plain_class;
}

void dealloc(PyObject* object) {
  StorageObject* self = object_of(object);
  PyObject_GC_UnTrack(object);
  if (Storage* storage = self->storage) {
    if (storage->refs.load(std::memory_order_acquire) > 1 && python_could_tell(self)) {
      Py_SET_REFCNT(object, 1);
      g_objects[storage].kept = true;
      ++g_kept;
      g_release_kept_object = release_kept;
      PyObject_GC_Track(object);
      StorageRef::release(storage);
      return;
    }
    g_objects.erase(storage);
    self->storage = nullptr;
    StorageRef::release(storage);
  }
  if (self->weakrefs) PyObject_ClearWeakRefs(object);
  Py_CLEAR(self->dict);
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  // Used by tensors as well, it must not be taken for a part of a cycle that nobody reaches.
  const Storage* storage = object_of(object)->storage;
  if (storage && storage->refs.load(std::memory_order_acquire) > 1) return 0;
  Py_VISIT(object_of(object)->dict);
  return 0;
}

int clear(PyObject* object) {
  const Storage* storage = object_of(object)->storage;
  if (storage && storage->refs.load(std::memory_order_acquire) > 1) return 0;  // tensors will show it again
  Py_CLEAR(object_of(object)->dict);
  return 0;
}

PyObject* new_object(PyTypeObject* type, Storage* storage) {  // takes the reference over
  PyObject* object = type->tp_alloc(type, 0);
  if (!object) {
    StorageRef::release(storage);
    return nullptr;
  }
  object_of(object)->storage = storage;
  g_objects[storage] = {object_of(object), false};
  return object;
}

// The arguments are read in Python: StorageBase._made gives a storage that nobody else has.
PyObject* construct(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    MT_CHECK(type != g_storage_type,
             "Cannot directly construct StorageBase; subclass it and then construct that");
    const nb::object made = nb::steal(PyObject_Call(
        nb::object(nb::handle(reinterpret_cast<PyObject*>(type)).attr("_made")).ptr(), args, kwargs));
    if (!made.is_valid()) throw nb::python_error();
    return new_object(type, StorageRef(nb::cast<StorageHandle&>(made).ref).detach());
  });
}

PyObject* get_handle(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    Storage* storage = object_of(self)->storage;
    MT_CHECK(storage, "Got a null Storage");
    return wrap_storage_handle(StorageRef::share(storage));
  });
}

// StorageBase._wrap(handle): the object of a storage, or a new one of this class.
PyObject* wrap_object(PyObject* cls, PyObject* argument) {
  return guarded([&]() -> PyObject* {
    const StorageHandle& handle = nb::cast<StorageHandle&>(nb::handle(argument));
    const auto found = g_objects.find(handle.ref.get());
    if (found == g_objects.end())
      return new_object(reinterpret_cast<PyTypeObject*>(cls), StorageRef(handle.ref).detach());
    PyObject* object = reinterpret_cast<PyObject*>(found->second.object);
    if (found->second.kept) take_back(found->second);
    else Py_INCREF(object);
    return object;
  });
}

// For whoever found the object by a weak reference: it holds its storage from here on.
PyObject* fix_weak_reference(PyObject* self, PyObject*) {
  const auto found = g_objects.find(object_of(self)->storage);
  if (found != g_objects.end() && found->second.kept) {
    take_back(found->second);
    Py_DECREF(self);
  }
  Py_RETURN_NONE;
}

PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(StorageObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(StorageObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyMethodDef methods[] = {{"_wrap", wrap_object, METH_O | METH_CLASS, nullptr},
                         {"_fix_weakref", fix_weak_reference, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {{"_handle", get_handle, nullptr, nullptr, nullptr},
                            {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyObject* set_plain_class(PyObject*, PyObject* cls) {
  Py_XSETREF(g_plain_class, Py_NewRef(cls));
  Py_RETURN_NONE;
}
PyMethodDef functions[] = {{"_set_plain_storage_class", set_plain_class, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* wrap_storage_handle(const StorageRef& storage) {
  return nb::cast(StorageHandle{storage}).release().ptr();
}

bool create_storage_type(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                         {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(clear)},
                         {Py_tp_new, reinterpret_cast<void*>(construct)},
                         {Py_tp_members, members},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, properties},
                         {0, nullptr}};
  PyType_Spec spec = {"mindtorch_v2._C.StorageBase", int(sizeof(StorageObject)), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  g_storage_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return g_storage_type &&
         PyModule_AddObjectRef(module, "StorageBase", reinterpret_cast<PyObject*>(g_storage_type)) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace mt::bindings
