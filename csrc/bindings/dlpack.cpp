// DLPack both ways: memory shared with other libraries, described by a struct they all know.
#include "autograd/node.h"
#include "bindings/casters.h"
#include "bindings/parser.h"
#include "core/accelerator.h"
#include "core/copy_on_write.h"
#include "core/dispatch.h"
#include "core/intercept_python.h"
#include "core/reach.h"
#include "core/sparse.h"
#include "core/transform.h"

namespace nb = nanobind;

namespace mt::bindings {
namespace {

// The layout is the standard's (dlpack 0.x, and the versioned one of 1.x).
struct DLDevice {
  int32_t type;
  int32_t id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor tensor;
};
constexpr int32_t kCpu = 1,
                  kExtension = 12;  // 12: a device outside the standard's list; PyTorch's choice for its own
constexpr uint64_t kReadOnly = 1;

DLDataType type_of(DType dtype) {
  const auto bits = uint8_t(itemsize(dtype) * 8);
  if (dtype == DType::boolean) return {6, 8, 1};
  if (dtype == DType::bfloat16) return {4, 16, 1};
  if (dtype == DType::float8_e4m3fn) return {10, 8, 1};
  if (dtype == DType::float8_e4m3fnuz) return {11, 8, 1};
  if (dtype == DType::float8_e5m2) return {12, 8, 1};
  if (dtype == DType::float8_e5m2fnuz) return {13, 8, 1};
  if (dtype == DType::float8_e8m0fnu) return {14, 8, 1};
  if (is_complex(dtype)) return {5, bits, 1};
  if (is_floating(dtype)) return {2, bits, 1};
  return {uint8_t(info(dtype).is_signed ? 0 : 1), bits, 1};
}

DType dtype_from(DLDataType t) {
  MT_CHECK(t.lanes == 1, "from_dlpack: vector types (", t.lanes, " lanes) are not supported");
#define X(name, type, legacy)                                                                \
  if (const DLDataType own = type_of(DType::name); own.code == t.code && own.bits == t.bits) \
    return DType::name;
  MT_FORALL_DTYPES(X)
#undef X
  fail(ErrorKind::runtime, "from_dlpack: unsupported type code ", int(t.code), " with ", int(t.bits),
       " bits");
}

// Keeps the tensor alive while the other library uses it.
template <class Managed>
struct Export {
  Managed managed{};
  Tensor tensor;
  Dims shape, strides;
};

template <class Managed>
Managed* exported(const Tensor& t) {
  check_has_memory(t);
  check_reach(t);
  before_write(t.storage());
  auto* e = new Export<Managed>;
  e->tensor = t;
  e->shape = Dims(t.sizes());
  e->strides = Dims(t.strides());
  const Device device = t.device();
  e->managed.tensor = {t.data(),
                       {device.is_cpu() ? kCpu : kExtension, device.is_cpu() ? 0 : device.index},
                       int32_t(t.dim()),
                       type_of(t.dtype()),
                       e->shape.data(),
                       e->strides.data(),
                       0};
  e->managed.context = e;
  e->managed.deleter = [](Managed* m) { delete static_cast<Export<Managed>*>(m->context); };
  return &e->managed;
}

// A capsule nobody took still owns its tensor.
template <class Managed>
void drop_capsule(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  if (!name || std::string_view(name).starts_with("used_")) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (managed && managed->deleter) managed->deleter(managed);
}

nb::object to_capsule(const Tensor& t, bool versioned) {
  MT_CHECK_AS(buffer, !autograd::requires_grad(t),
              "Can't export tensors that require gradient, use tensor.detach()");
  MT_CHECK_AS(buffer, layout_of(t) == Layout::strided,
              "Can't export tensors with layout other than torch.strided");
  MT_CHECK_AS(buffer, !t.device().is_meta(), "Can't export tensors on the meta device: they have no data");
  if (Accelerator* there = find_accelerator(t.device().type)) there->share();
  PyObject* capsule;
  if (versioned) {
    auto* managed = exported<DLManagedTensorVersioned>(t);
    managed->major = 1, managed->minor = 0;
    capsule = PyCapsule_New(managed, "dltensor_versioned", drop_capsule<DLManagedTensorVersioned>);
  } else {
    capsule = PyCapsule_New(exported<DLManagedTensor>(t), "dltensor", drop_capsule<DLManagedTensor>);
  }
  if (!capsule) throw nb::python_error();
  return nb::steal(capsule);
}

template <class Managed>
Tensor imported(Managed* managed) {
  const DLTensor& d = managed->tensor;
  MT_CHECK(d.device.type == kCpu || d.device.type == kExtension, "from_dlpack: device type ", d.device.type,
           " is not supported; cpu (1) and ", name_of(main_accelerator()), " (12) are");
  const DType dtype = dtype_from(d.dtype);
  Dims sizes(IntList(d.shape, size_t(d.ndim))), strides(sizes.size(), 0);
  const int64_t count = checked_numel(sizes);
  if (d.strides) strides = Dims(IntList(d.strides, size_t(d.ndim)));
  else contiguous_strides(sizes, strides.data());
  for (size_t i = 0; i < sizes.size() && count; ++i) {
    MT_CHECK(strides[i] >= 0 || sizes[i] <= 1,
             "from_dlpack: negative strides are not supported; copy the array");
  }
  const int64_t reach = checked_reach(sizes, strides, 0, itemsize(dtype));
  const Device device{d.device.type == kCpu ? DeviceType::cpu : main_accelerator(),
                      int8_t(d.device.type == kCpu ? -1 : d.device.id)};
  StorageRef storage = wrap_storage(
      device, static_cast<char*>(d.data) + d.byte_offset, size_t(reach) * itemsize(dtype),
      [](Storage& s) {
        auto* m = static_cast<Managed*>(s.context);
        if (m->deleter) m->deleter(m);
      },
      managed);
  storage->resizable = false;
  return tensor_over(std::move(storage), dtype, sizes, strides, 0);
}

Tensor from_capsule(nb::handle object) {
  PyObject* capsule = object.ptr();
  MT_CHECK_AS(type, PyCapsule_CheckExact(capsule), "from_dlpack: wanted a DLPack capsule, got ",
              Py_TYPE(capsule)->tp_name);
  const std::string_view name = PyCapsule_GetName(capsule) ? PyCapsule_GetName(capsule) : "";
  if (name == "dltensor") {
    Tensor t = imported(static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor")));
    PyCapsule_SetName(capsule, "used_dltensor");
    return t;
  }
  MT_CHECK(name == "dltensor_versioned",
           "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, "
           "so you "
           "might have already constructed a tensor from it once.");
  auto* managed = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
  MT_CHECK_AS(buffer, managed->major == 1, "from_dlpack: the capsule speaks version ", managed->major, ".",
              managed->minor, " of DLPack; 1.x is understood");
  MT_CHECK_AS(buffer, !(managed->flags & kReadOnly),
              "from_dlpack: the memory is read-only, and tensors can be written; copy the array first");
  Tensor t = imported(managed);
  PyCapsule_SetName(capsule, "used_dltensor_versioned");
  return t;
}

}  // namespace

void init_dlpack(nb::module_& m) {
  m.def("_to_dlpack", to_capsule, nb::arg("tensor"), nb::arg("versioned"));
  m.def("_from_dlpack", from_capsule);
}

}  // namespace mt::bindings
