// Sparse tensors taken apart and put together (Note [Sparse tensors] in core/sparse.h).
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "autograd/node.h"
#include "bindings/casters.h"
#include "bindings/tensor_object.h"
#include "core/intercept.h"
#include "core/sparse.h"

namespace mt::bindings {

namespace nb = nanobind;

namespace {

const Tensor& checked(nb::handle object) {
  MT_CHECK_AS(type, is_tensor(object.ptr()), "wanted a Tensor, got ", Py_TYPE(object.ptr())->tp_name);
  return tensor_of(object.ptr());
}

// The parts take no part in the graph: history is the sparse tensor's own.
Tensor part(nb::handle object) {
  if (object.is_none()) return Tensor();
  const Tensor& tensor = checked(object);
  return autograd::requires_grad(tensor) ? shallow_copy(tensor) : tensor;
}

void set_shape(TensorImpl& impl, const std::vector<int64_t>& size) {
  const int64_t count = checked_numel(size);
  impl.set_ndim(size.size());
  std::copy(size.begin(), size.end(), impl.sizes());
  std::fill_n(impl.strides(), size.size(), 0);  // nobody walks along them
  impl.numel = count;
  impl.contiguous = false;
}

void set_parts(const Tensor& tensor, const std::vector<int64_t>& size, nb::handle indices,
               nb::handle plain_indices, nb::handle values, bool coalesced) {
  MT_CHECK(special(tensor) & kSparse, "only the parts of a sparse tensor can be replaced");
  SparseParts& parts = *sparse_parts(tensor);
  parts.indices = part(indices);
  parts.plain_indices = part(plain_indices);
  parts.values = part(values);
  parts.coalesced = coalesced;
  TensorImpl& impl = *tensor.impl();
  set_shape(impl, size);
  impl.dtype = parts.values.dtype();
  impl.device = parts.values.device();
}

// It says that it is on the device of its values, but its storage is on meta and empty: no kernel may ever see it.
nb::object make(const std::string& layout, const std::vector<int64_t>& size, nb::handle indices,
                nb::handle plain_indices, nb::handle values, bool coalesced) {
  Tensor made = new_tensor(Dims{0}, part(values).dtype(), {DeviceType::meta});
  autograd::leaf_state(made).sparse = std::make_unique<SparseParts>();
  made.impl()->special |= kSparse;
  sparse_parts(made)->layout = layout_named(layout);
  set_parts(made, size, indices, plain_indices, values, coalesced);
  return nb::steal(wrap(made));
}

nb::object part_object(const Tensor& tensor) {
  return tensor.defined() ? nb::steal(wrap(tensor)) : nb::none();
}

nb::object parts(nb::handle object) {
  const Tensor& tensor = checked(object);
  if (layout_of(tensor) == Layout::strided) return nb::none();
  const SparseParts& found = *sparse_parts(tensor);
  return nb::make_tuple(layout_name(found.layout), part_object(found.indices),
                        part_object(found.plain_indices), part_object(found.values), found.coalesced);
}

}  // namespace

void init_sparse(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_sparse", "Sparse tensors taken apart and put together.");
  m.def("make", &make, nb::arg("layout"), nb::arg("size"), nb::arg("indices"),
        nb::arg("plain_indices").none(), nb::arg("values"), nb::arg("coalesced"));
  m.def("parts", &parts, nb::arg("tensor"),
        "(layout, indices, plain indices, values, whether it is coalesced); None of a strided tensor.");
  m.def(
      "layout", [](nb::handle tensor) { return layout_name(layout_of(checked(tensor))); }, nb::arg("tensor"),
      "The name of its layout.");
  m.def(
      "set_parts",
      [](nb::handle tensor, const std::vector<int64_t>& size, nb::handle indices, nb::handle plain,
         nb::handle values,
         bool coalesced) { set_parts(checked(tensor), size, indices, plain, values, coalesced); },
      nb::arg("tensor"), nb::arg("size"), nb::arg("indices"), nb::arg("plain_indices").none(),
      nb::arg("values"), nb::arg("coalesced"), "Gives a sparse tensor other parts, and the size.");
}

}  // namespace mt::bindings
