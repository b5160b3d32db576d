// The engine, modes and hooks in Python.
#include <map>

#include "autograd/accumulate.h"
#include "autograd/engine.h"
#include "bindings/casters.h"
#include "bindings/nested_passes.h"
#include "bindings/node_object.h"
#include "bindings/parser.h"
#include "bindings/python_lock.h"
#include "generated/ops/creation.h"

namespace nb = nanobind;

namespace mt::bindings {

namespace {

// A type for each name of node, because programs that draw graphs read type(grad_fn).__name__.
nb::handle node_type(autograd::Node* node) {
  static std::map<std::string, PyObject*> types;  // kept for the life of the process
  PyObject*& type = types[node->name()];
  if (!type) {
    nb::dict attributes;
    attributes["__module__"] = context_of(node) ? "torch.autograd.function" : "builtins";
    attributes["__slots__"] = nb::tuple();
    const nb::object base = nb::borrow(nb::type<NodeHandle>());
    type = nb::borrow(reinterpret_cast<PyObject*>(&PyType_Type))(nb::str(node->name()), nb::make_tuple(base),
                                                                 attributes)
               .release()
               .ptr();
  }
  return type;
}

}  // namespace

PyObject* wrap_node(autograd::Node* node) {
  nb::object handle = nb::inst_alloc(node_type(node));
  new (nb::inst_ptr<NodeHandle>(handle)) NodeHandle{autograd::NodeRef::share(node)};
  nb::inst_mark_ready(handle);
  return handle.release().ptr();
}

namespace {

// Holds a callable from threads that may not hold the GIL.
std::shared_ptr<PyObject> hold(PyObject* callable) {
  Py_INCREF(callable);
  return {callable, [](PyObject* o) {
            const PythonLock gil;
            Py_DECREF(o);
          }};
}

nb::object tuple_of(autograd::Grads grads) {
  nb::list list;
  for (const Tensor& g : grads) list.append(nb::steal(wrap(g)));
  return nb::tuple(list);
}

nb::list next_functions(const NodeHandle& self) {
  nb::list out;
  const autograd::EdgeList& edges = self.get()->edges;
  for (size_t i = 0; i < edges.size(); ++i)
    out.append(
        nb::make_tuple(edges[i].node ? nb::steal(wrap_node(edges[i].node)) : nb::none(), edges[i].input));
  return out;
}

uint64_t register_node_hook(NodeHandle& self, nb::object callable) {
  return self.get()->add_post_hook([held = hold(callable.ptr())](autograd::Grads inputs,
                                                                 autograd::Grads outputs) {
    const PythonLock gil;
    nb::object result = nb::borrow(held.get())(tuple_of(inputs), tuple_of(outputs));
    if (result.is_none()) return;
    size_t i = 0;
    for (nb::handle item : result) {
      MT_CHECK(i < inputs.size(), "hook returned more gradients than the ", inputs.size(), " it was given");
      inputs[i++] = item.is_none() ? Tensor() : nb::cast<Tensor>(item);
    }
  });
}

uint64_t register_node_prehook(NodeHandle& self, nb::object callable) {
  // Seen as one hook per input; PyTorch passes the tuple of all gradients, of which nodes here mostly have one.
  MT_CHECK_AS(not_implemented, self.get()->outputs <= 1, "register_prehook on a node with ",
              self.get()->outputs, " outputs is not supported yet; register hooks on its output tensors");
  return self.get()->add_pre_hook(0, [held = hold(callable.ptr())](const Tensor& grad) {
    const PythonLock gil;
    nb::object result = nb::borrow(held.get())(nb::make_tuple(nb::steal(wrap(grad))));
    if (result.is_none()) return Tensor();
    return nb::cast<Tensor>(result[0]);
  });
}

// What stands for an edge of the graph in a pass: the leaf, or a tensor like the one that the node made.
Tensor tensor_at_edge(const NodeHandle& handle, uint32_t output_nr) {
  autograd::Node* node = handle.get();
  if (auto* leaf = dynamic_cast<autograd::AccumulateGrad*>(node)) {
    const Tensor variable = leaf->variable();
    MT_CHECK(variable.defined(), "the tensor whose gradient this edge leads to is gone");
    return variable;
  }
  MT_CHECK_AS(index, output_nr < node->outputs, "the node ", node->name(), " has ", node->outputs,
              " outputs, got an edge to number ", output_nr);
  const autograd::OutputMeta& meta = node->output_meta(output_nr);
  const Dims all_at_one_place(meta.sizes.size(), 0);
  TensorOptions options;
  options.dtype = meta.dtype;
  options.device = meta.device;
  Tensor tensor = ops::empty_strided(IntList(meta.sizes), IntList(all_at_one_place), options);
  TensorImpl* impl = tensor.impl();
  autograd::NodeRef::retain(node);
  impl->grad_fn = node;
  impl->output_nr = output_nr;
  return tensor;
}

autograd::BackwardOptions options_of(bool retain_graph, bool create_graph, bool allow_unused) {
  return {retain_graph, create_graph, allow_unused};
}

}  // namespace

autograd::GradHook python_grad_hook(PyObject* callable) {
  return [held = hold(callable)](const Tensor& grad) -> Tensor {
    const PythonLock gil;
    nb::object result = nb::borrow(held.get())(nb::steal(wrap(grad)));
    if (result.is_none()) return Tensor();
    MT_CHECK_AS(type, is_tensor(result.ptr()), "expected Variable, but hook returned '",
                Py_TYPE(result.ptr())->tp_name, "'");
    const Tensor& changed = tensor_of(result.ptr());
    const auto named = [&] {
      const nb::object name = nb::getattr(nb::borrow(held.get()), "__name__", nb::none());
      return name.is_none() ? std::string("hook") : join_text("hook '", nb::str(name).c_str(), "'");
    };
    MT_CHECK(std::ranges::equal(changed.sizes(), grad.sizes()), named(), " has changed the size of value");
    MT_CHECK(changed.dtype() == grad.dtype(), named(), " has changed the type of value (was torch.",
             info(grad.dtype()).legacy, "Tensor got torch.", info(changed.dtype()).legacy, "Tensor)");
    return changed;
  };
}

autograd::PostHook python_accumulated_hook(PyObject* callable, autograd::AccumulateGrad* node) {
  return [held = hold(callable), node](autograd::Grads, autograd::Grads) {
    const Tensor leaf = node->variable();
    if (!leaf.defined()) return;
    const PythonLock gil;
    nb::borrow(held.get())(nb::steal(wrap(leaf)));
  };
}

void init_autograd(nb::module_& m) {
  nb::class_<NodeHandle>(m, "Node")
      .def("name", [](const NodeHandle& self) { return self.get()->name(); })
      .def_prop_ro("next_functions", [](const NodeHandle& self) { return nb::tuple(next_functions(self)); })
      .def("_sequence_nr", [](const NodeHandle& self) { return self.get()->sequence; })
      .def("_register_hook", register_node_hook)
      .def("__getattr__",
           [](const NodeHandle& self, const char* name) -> nb::object {
             if (auto* leaf = dynamic_cast<autograd::AccumulateGrad*>(self.get());
                 leaf && std::string_view(name) == "variable") {
               const Tensor variable = leaf->variable();
               return variable.defined() ? nb::steal(wrap(variable)) : nb::none();
             }
             // The node of a Function shows what its context holds, as in PyTorch, where the two are one.
             PyObject* context = context_of(self.get());
             if (!context) {
               PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%s'", self.get()->name(),
                            name);
               throw nb::python_error();
             }
             return nb::borrow(context).attr(name);
           })
      .def("_register_prehook", register_node_prehook)
      .def("_remove_hook", [](NodeHandle& self, uint64_t id) { self.get()->remove_hook(id); })
      .def("__eq__",
           [](const NodeHandle& a, nb::object b) {
             return nb::isinstance<NodeHandle>(b) && nb::cast<NodeHandle&>(b).get() == a.get();
           })
      .def("__hash__", [](const NodeHandle& self) { return reinterpret_cast<uintptr_t>(self.get()); })
      .def("__repr__", [](const NodeHandle& self) {
        return join_text("<", context_of(self.get()) ? "torch.autograd.function." : "", self.get()->name(),
                         " object at ", static_cast<void*>(self.get()), ">");
      });

  m.def("_backward", [](std::vector<Tensor> roots, std::vector<Tensor> grads, std::vector<Tensor> inputs,
                        bool retain_graph, bool create_graph) {
    run_pass([&] { autograd::backward(roots, grads, inputs, options_of(retain_graph, create_graph, true)); });
  });
  m.def("_grad", [](std::vector<Tensor> roots, std::vector<Tensor> grads, std::vector<Tensor> inputs,
                    bool retain_graph, bool create_graph, bool allow_unused) {
    std::vector<Tensor> found;
    run_pass([&] {
      found = autograd::grad(roots, grads, inputs, options_of(retain_graph, create_graph, allow_unused));
    });
    return found;
  });
  m.def("_gradient_node", [](const Tensor& tensor) {
    autograd::Node* node = autograd::gradient_node(tensor);
    MT_CHECK(node,
             "It is not possible to get the gradient edge for a Tensor that does not require gradients");
    return nb::steal(wrap_node(node));
  });
  m.def("_tensor_at_edge", tensor_at_edge);
  m.def("_increment_version", [](const Tensor& tensor) { tensor.bump_version(); });
  m.def("is_grad_enabled", [] { return thread_state().grad_enabled; });
  m.def("_set_grad_enabled", [](bool enabled) { thread_state().grad_enabled = enabled; });
}

}  // namespace mt::bindings
