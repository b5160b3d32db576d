// Attributes of Tensor.
#include "autograd/node.h"
#include "bindings/asking.h"
#include "bindings/node_object.h"
#include "bindings/parser.h"
#include "core/sparse.h"
#include "core/warn.h"
#include "generated/ops/view.h"

namespace mt::bindings {
namespace {

const Tensor& self_of(PyObject* self) { return tensor_of(self); }

PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] { return size_object(self_of(self).sizes()); });
}
PyObject* get_dtype(PyObject* self, void*) { return dtype_object(self_of(self).dtype()); }
PyObject* get_device(PyObject* self, void*) {
  return guarded([&] { return device_object(self_of(self).device()); });
}
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLongLong(self_of(self).dim()); }
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(self_of(self).itemsize()); }
PyObject* get_nbytes(PyObject* self, void*) {
  return guarded([&] {
    MT_CHECK(
        layout_of(self_of(self)) == Layout::strided,
        "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add "
        "the nbytes of the indices and values.  If you want the size of the  equivalent dense tensor, "
        "multiply numel() by element_size()");
    return PyLong_FromSize_t(self_of(self).nbytes());
  });
}
PyObject* get_is_leaf(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(!autograd::current_grad_fn(self_of(self))); });
}
PyObject* get_is_cpu(PyObject* self, void*) { return PyBool_FromLong(self_of(self).device().is_cpu()); }
// Its name, where every attribute has it, and what it asks of the tensor.
struct DeviceAttribute {
  char name[24];
  DeviceType type;
};
PyObject* get_is_of_type(PyObject* self, void* attribute) {
  return PyBool_FromLong(self_of(self).device().type == static_cast<DeviceAttribute*>(attribute)->type);
}
PyObject* get_is_meta(PyObject* self, void*) { return PyBool_FromLong(self_of(self).device().is_meta()); }
PyObject* get_is_sparse(PyObject* self, void*) {
  return PyBool_FromLong(layout_of(self_of(self)) == Layout::sparse_coo);
}
PyObject* get_false(PyObject*, void*) { Py_RETURN_FALSE; }
PyObject* get_version(PyObject* self, void*) {
  return guarded([&] {
    MT_CHECK(!self_of(self).storage().made_in_inference(), "Inference tensors do not track version counter.");
    return PyLong_FromUnsignedLong(self_of(self).version());
  });
}
PyObject* get_output_nr(PyObject* self, void*) {
  return PyLong_FromUnsignedLong(self_of(self).impl()->output_nr);
}
PyObject* get_requires_grad(PyObject* self, void*) {
  return PyBool_FromLong(autograd::requires_grad(self_of(self)));
}

int set_requires_grad(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    MT_CHECK(value && PyBool_Check(value), "requires_grad must be a bool");
    const Tensor& t = self_of(self);
    const bool wanted = value == Py_True;
    MT_CHECK(autograd::is_leaf(t) || wanted,
             "you can only change requires_grad flags of leaf variables. If you want to use a computed "
             "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().");
    MT_CHECK(!wanted || is_differentiable(t.dtype()),
             "only Tensors of floating point and complex dtype can require gradients");
    MT_CHECK(!wanted || !t.storage().made_in_inference() || thread_state().inference,
             "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
    if (autograd::is_leaf(t)) t.impl()->requires_grad = wanted;
    return 0;
  });
}

PyObject* get_grad(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = self_of(self);
    autograd::LeafState* state = autograd::find_leaf_state(t);
    if (!state || !state->grad.defined()) {
      if (!autograd::is_leaf(t) && !(state && state->retains_grad))
        warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
            "attribute "
            "won't be populated during autograd.backward(). If you indeed want the .grad field to be "
            "populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the "
            "non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. See "
            "github.com/pytorch/pytorch/pull/30531 for more information.");
      Py_RETURN_NONE;
    }
    return wrap(state->grad);
  });
}

int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    const Tensor& t = self_of(self);
    if (!value || value == Py_None) {
      if (autograd::LeafState* state = autograd::find_leaf_state(t)) state->grad = Tensor();
      return 0;
    }
    MT_CHECK_AS(type, is_tensor(value), "assigned grad expected to be a Tensor or None but got grad of type ",
                Py_TYPE(value)->tp_name);
    const Tensor& grad = tensor_of(value);
    MT_CHECK(!grad.same(t), "can't assign Variable as its own grad");
    MT_CHECK(grad.device().type == t.device().type, "attempting to assign a gradient with device type '",
             name_of(grad.device().type), "' to a tensor with device type '", name_of(t.device().type),
             "'. Please ensure that the gradient and the tensor are on the same device");
    MT_CHECK_AS(value, grad.device() == t.device(),
                "attempting to assign a gradient located on device with index '", int(grad.device().index),
                "' to a tensor located on device with index '", int(t.device().index),
                "'. Please ensure that the gradient and the tensor are on the same device");
    MT_CHECK(grad.dtype() == t.dtype(), "attempting to assign a gradient with dtype '", c_name(grad.dtype()),
             "' to a tensor with grad_dtype '", info(t.dtype()).legacy,
             "'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You can "
             "set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set "
             "grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
             "downstream systems that assume they match.");
    MT_CHECK(std::ranges::equal(grad.sizes(), t.sizes()), "attempting to assign a gradient of size '",
             to_string(grad.sizes()), "' to a tensor of size '", to_string(t.sizes()),
             "'. Please ensure that the gradient and the tensor are the same size");
    autograd::leaf_state(t).grad = grad;
    return 0;
  });
}

PyObject* get_grad_fn(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    autograd::Node* node = autograd::current_grad_fn(self_of(self));
    if (!node) Py_RETURN_NONE;
    return wrap_node(node);
  });
}

PyObject* get_base(PyObject* self, void*) {
  TensorImpl* base = self_of(self).impl()->base;
  if (!base) Py_RETURN_NONE;
  return wrap(Tensor::share(base));
}

// `.data`: the same values outside every graph, with a version counter of its own.
PyObject* get_data(PyObject* self, void*) {
  return guarded([&] { return wrap(shallow_copy(self_of(self), true)); });
}

int set_data(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    MT_CHECK(value, "Deleting tensor data is not allowed. Delete tensor instead!");
    MT_CHECK_AS(type, is_tensor(value), "Variable data has to be a tensor, but got ",
                Py_TYPE(value)->tp_name);
    const Tensor& t = self_of(self);
    const Tensor from = shallow_copy(tensor_of(value));
    MT_CHECK(from.dtype() == t.dtype() || !autograd::requires_grad(t) || is_differentiable(from.dtype()),
             "data set to a tensor that requires gradients must be floating point or complex dtype");
    MT_CHECK(
        layout_of(from) == layout_of(t),
        "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor "
        "type.");
    if (layout_of(from) != Layout::strided) *sparse_parts(t) = *sparse_parts(from);
    TensorImpl &to = *t.impl(), &source = *from.impl();
    to.storage = source.storage;
    to.own_version = source.own_version;
    to.version = source.version;
    to.dtype = source.dtype;
    to.device = source.device;
    to.set_ndim(source.ndim);
    std::copy_n(source.sizes(), source.ndim, to.sizes());
    std::copy_n(source.strides(), source.ndim, to.strides());
    to.offset = source.offset;
    to.refresh();
    return 0;
  });
}

// Once in a process, as PyTorch does.
void warn_transposed() {
  static bool told = false;
  if (!first_time(told)) return;
  warn(
      "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it "
      "will "
      "throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
      "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.");
}

PyObject* get_transposed(PyObject* self, void*) {
  return guarded([&] {
    if (self_of(self).dim() != 2 && self_of(self).dim() != 0) warn_transposed();
    Dims order;
    for (int64_t d = self_of(self).dim() - 1; d >= 0; --d) order.push_back(d);
    return wrap(ops::permute(self_of(self), order));
  });
}
PyObject* get_matrix_transposed(PyObject* self, void*) {
  return guarded([&] {
    MT_CHECK(self_of(self).dim() != 1,
             "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.");
    if (self_of(self).dim() == 0) return wrap(ops::permute(self_of(self), Dims()));
    return wrap(ops::transpose(self_of(self), -2, -1));
  });
}

// An attribute that asks first; its closure begins with its name.
template <PyObject* (*get)(PyObject*, void*)>
PyObject* asking(PyObject* self, void* closure) {
  if (may_ask(self)) [[unlikely]] {
    bool failed = false;
    if (PyObject* done = ask_attribute(static_cast<const char*>(closure), self, nullptr, failed)) return done;
    if (failed) return nullptr;
  }
  return get(self, closure);
}
template <int (*set)(PyObject*, PyObject*, void*)>
int asking_set(PyObject* self, PyObject* value, void* closure) {
  if (value && may_ask(self)) [[unlikely]] {
    bool failed = false;
    if (PyObject* done = ask_attribute(static_cast<const char*>(closure), self, value, failed)) {
      Py_DECREF(done);
      return 0;
    }
    if (failed) return -1;
  }
  return set(self, value, closure);
}

}  // namespace

PyGetSetDef tensor_properties[] = {
    {"shape", asking<get_shape>, nullptr, nullptr, nullptr},
    {"dtype", asking<get_dtype>, nullptr, nullptr, nullptr},
    {"device", asking<get_device>, nullptr, nullptr, nullptr},
    {"ndim", asking<get_ndim>, nullptr, nullptr, nullptr},
    {"itemsize", asking<get_itemsize>, nullptr, nullptr, nullptr},
    {"nbytes", asking<get_nbytes>, nullptr, nullptr, nullptr},
    {"is_leaf", asking<get_is_leaf>, nullptr, nullptr, nullptr},
    {"is_cpu", asking<get_is_cpu>, nullptr, nullptr, nullptr},
    {"is_meta", asking<get_is_meta>, nullptr, nullptr, nullptr},
    {"is_cuda", asking<get_false>, nullptr, nullptr, nullptr},
    {"is_sparse", asking<get_is_sparse>, nullptr, nullptr, nullptr},
    {"is_quantized", asking<get_false>, nullptr, nullptr, nullptr},
    {"_version", asking<get_version>, nullptr, nullptr, nullptr},
    {"output_nr", asking<get_output_nr>, nullptr, nullptr, nullptr},
    {"requires_grad", asking<get_requires_grad>, asking_set<set_requires_grad>, nullptr, nullptr},
    {"grad", asking<get_grad>, asking_set<set_grad>, nullptr, nullptr},
    {"grad_fn", asking<get_grad_fn>, nullptr, nullptr, nullptr},
    {"_base", asking<get_base>, nullptr, nullptr, nullptr},
    {"data", asking<get_data>, asking_set<set_data>, nullptr, nullptr},
    {"T", asking<get_transposed>, nullptr, nullptr, nullptr},
    {"mT", asking<get_matrix_transposed>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

void add_device_property(const std::string& name, DeviceType type) {
  // The interpreter keeps pointers into them.
  auto* attribute = new DeviceAttribute{{}, type};
  MT_CHECK(name.size() + 3 < sizeof(attribute->name), "a device may not have a name as long as ", name);
  ("is_" + name).copy(attribute->name, sizeof(attribute->name) - 1);
  auto* property = new PyGetSetDef{attribute->name, asking<get_is_of_type>, nullptr, nullptr, attribute};
  PyObject* made = PyDescr_NewGetSet(g_tensor_type, property);
  if (!made || PyDict_SetItemString(g_tensor_type->tp_dict, property->name, made) < 0) throw PythonError();
  Py_DECREF(made);
  PyType_Modified(g_tensor_type);
}

}  // namespace mt::bindings
