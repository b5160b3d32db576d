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

// Without the namespace that native names have.
const char* short_name(const char* name) {
  const size_t space = std::string_view(name).rfind("::");
  return space == std::string_view::npos ? name : name + space + 2;
}

// A type for each name of node, because programs that draw graphs read type(grad_fn).__name__.
nb::handle node_type(const char* name) {
  static std::map<std::string, PyObject*> types;  // kept for the life of the process
  name = short_name(name);
  PyObject*& type = types[name];
  if (!type) {
    nb::dict attributes;
    attributes["__module__"] = "builtins";
    attributes["__slots__"] = nb::tuple();
    const nb::object base = nb::borrow(nb::type<NodeHandle>());
    type =
        nb::borrow(reinterpret_cast<PyObject*>(&PyType_Type))(nb::str(name), nb::make_tuple(base), attributes)
            .release()
            .ptr();
  }
  return type;
}

struct PythonCompanion final : autograd::NodeCompanion {
  PyObject* handle = nullptr;    // not owned: it owns the node
  PyObject* metadata = nullptr;  // owned
  std::vector<std::pair<uint64_t, PyObject*>>
      hooks;  // by number; the hooks own them, as long as they are there
  ~PythonCompanion() override {
    if (!metadata || !Py_IsInitialized()) return;
    const PythonLock gil;
    Py_DECREF(metadata);
  }
};

PythonCompanion& companion_of(autograd::Node* node) {
  if (!node->companion) node->companion = std::make_unique<PythonCompanion>();
  return static_cast<PythonCompanion&>(*node->companion);
}

}  // namespace

NodeHandle::~NodeHandle() {
  PythonCompanion& companion = companion_of(get());
  // The last may have been followed by a new one while it was going.
  if (companion.handle && Py_REFCNT(companion.handle) == 0) companion.handle = nullptr;
}

PyObject* wrap_node_itself(autograd::Node* node) {
  PythonCompanion& companion = companion_of(node);
  if (companion.handle && Py_REFCNT(companion.handle) > 0) {
    Py_INCREF(companion.handle);
    return companion.handle;
  }
  nb::object handle = nb::inst_alloc(node_type(node->name()));
  new (nb::inst_ptr<NodeHandle>(handle)) NodeHandle(node);
  nb::inst_mark_ready(handle);
  companion.handle = handle.ptr();
  return handle.release().ptr();
}

PyObject* wrap_node(autograd::Node* node) {
  if (PyObject* context = context_of(node)) {
    Py_INCREF(context);
    return context;
  }
  return wrap_node_itself(node);
}

namespace {
bool has_hook(const autograd::NodeHooks& hooks, uint64_t wanted) {
  const auto is_it = [wanted](const auto& hook) { return hook.first == wanted; };
  return std::ranges::any_of(hooks.pre, [wanted](const auto& hook) { return hook.id == wanted; }) ||
         std::ranges::any_of(hooks.node_pre, is_it) || std::ranges::any_of(hooks.post, is_it);
}
}  // namespace

int traverse_node(autograd::Node* node, visitproc visit, void* arg) {
  if (node->refs.load(std::memory_order_acquire) != 1) return 0;
  Py_VISIT(context_of(node));
  if (!node->companion) return 0;
  const PythonCompanion& companion = companion_of(node);
  Py_VISIT(companion.metadata);
  for (const auto& [id, callable] : companion.hooks)
    if (node->hooks && has_hook(*node->hooks, id)) Py_VISIT(callable);
  return 0;
}

void clear_node(autograd::Node* node) {
  if (node->refs.load(std::memory_order_acquire) != 1) return;
  const auto hooks = std::move(node->hooks);
  if (!node->companion) return;
  PyObject* metadata = std::exchange(companion_of(node).metadata, nullptr);
  Py_XDECREF(metadata);
}

PyObject* wrap_hook(autograd::Node* node, uint64_t id, PyObject* callable) {
  companion_of(node).hooks.emplace_back(id, callable);
  return nb::cast(HookHandle{node->hooks, id}).release().ptr();
}

PyObject* hooks_of(autograd::Node* node, uint32_t input, bool afterwards) {
  nb::list found;
  if (!node->hooks || !node->companion) return found.release().ptr();
  const autograd::NodeHooks& hooks = *node->hooks;
  for (const auto& [id, callable] : companion_of(node).hooks) {
    const uint64_t wanted = id;
    const bool here =
        afterwards ? std::ranges::any_of(hooks.post, [&](const auto& hook) { return hook.first == wanted; })
                   : std::ranges::any_of(hooks.pre, [&](const auto& hook) {
                       return hook.id == wanted && hook.input == input;
                     });
    if (here) found.append(nb::make_tuple(HookHandle{node->hooks, id}, nb::borrow(callable)));
  }
  return found.release().ptr();
}

PyObject* metadata_of(autograd::Node* node) {
  PythonCompanion& companion = companion_of(node);
  if (!companion.metadata) companion.metadata = PyDict_New();
  return companion.metadata;
}

autograd::Node* node_of(PyObject* object) {
  const nb::handle given(object);
  if (nb::isinstance<NodeHandle>(given)) return nb::cast<NodeHandle&>(given).get();
  const nb::object inner = nb::getattr(given, "_node", nb::none());
  MT_CHECK_AS(type, !inner.is_none(), "wanted a node of the graph (a grad_fn), got ",
              Py_TYPE(object)->tp_name);
  return nb::cast<NodeHandle&>(inner()).get();  // the context of a Function says what its node is
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
  for (uint32_t i = 0; i < self.get()->number_edges(); ++i) out.append(nb::make_tuple(nb::none(), 0));
  return out;
}

nb::object register_node_hook(NodeHandle& self, nb::object callable) {
  const uint64_t id = self.get()->add_post_hook([held = hold(callable.ptr())](autograd::Grads inputs,
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
  return nb::steal(wrap_hook(self.get(), id, callable.ptr()));
}

nb::object register_node_prehook(NodeHandle& self, nb::object callable) {
  const uint64_t id = self.get()->add_node_pre_hook([held = hold(callable.ptr())](autograd::Grads grads) {
    const PythonLock gil;
    nb::object result = nb::borrow(held.get())(tuple_of(grads));
    if (result.is_none()) return;
    const nb::tuple changed =
        nb::isinstance<nb::tuple>(result) ? nb::borrow<nb::tuple>(result) : nb::make_tuple(result);
    MT_CHECK(changed.size() == grads.size(), "a pre-hook returned ", changed.size(), " gradients for ",
             grads.size());
    for (size_t i = 0; i < grads.size(); ++i)
      grads[i] = changed[i].is_none() ? Tensor() : nb::cast<Tensor>(changed[i]);
  });
  return nb::steal(wrap_hook(self.get(), id, callable.ptr()));
}

// Shape, dtype and device of what a node makes, which are those of the gradients it gets.
struct InputMetadata {
  autograd::OutputMeta meta;
};
nb::tuple input_metadata(const NodeHandle& self) {
  nb::list out;
  for (uint32_t i = 0; i < self.get()->outputs; ++i)
    out.append(nb::cast(InputMetadata{self.get()->output_meta(i)}));
  return nb::tuple(out);
}

nb::object attribute_of(const NodeHandle& self, const char* name) {
  autograd::Node* node = self.get();
  if (auto* leaf = dynamic_cast<autograd::AccumulateGrad*>(node);
      leaf && std::string_view(name) == "variable") {
    const Tensor variable = leaf->variable();
    return variable.defined() ? nb::steal(wrap(variable)) : nb::none();
  }
  if (PyObject* found = saved_attribute(*node, name)) return nb::steal(found);
  PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%s'", node->name(), name);
  throw nb::python_error();
}

// What stands for an edge of the graph in a pass: the leaf, or a tensor like the one that the node made or that the
// leaf was.
Tensor tensor_at_edge(nb::handle of, uint32_t output_nr) {
  autograd::Node* node = node_of(of.ptr());
  if (auto* leaf = dynamic_cast<autograd::AccumulateGrad*>(node))
    if (const Tensor variable = leaf->variable(); variable.defined()) return variable;
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

// grad_fn(gradient…): what the node makes of gradients.
nb::object call_node(NodeHandle& self, nb::args given) {
  autograd::Node& node = *self.get();
  MT_CHECK_AS(type, given.size() == node.outputs, "expected ", node.outputs, " arguments, got ", given.size(),
              " instead");
  std::vector<Tensor> grads, made(node.edges.size());
  for (nb::handle grad : given) grads.push_back(grad.is_none() ? Tensor() : nb::cast<Tensor>(grad));
  uint64_t wanted = 0;
  for (size_t i = 0; i < std::min<size_t>(made.size(), 64); ++i)
    if (node.edges[i].node) wanted |= uint64_t(1) << i;
  node.apply(grads, made, wanted);
  return made.size() == 1 ? nb::steal(wrap(made[0])) : tuple_of(made);
}

// A node that passes no gradient on; one with a message refuses to be run.
class Marker final : public autograd::Node {
 public:
  Marker(std::string title, std::string message) : title_(std::move(title)), message_(std::move(message)) {}
  const char* name() const override { return title_.c_str(); }
  void apply(autograd::Grads, autograd::Grads, uint64_t) override { MT_CHECK(message_.empty(), message_); }

 private:
  std::string title_, message_;
};

std::vector<Tensor> marked(std::string title, std::string message, const std::vector<Tensor>& tensors) {
  std::vector<Tensor> made;
  for (const Tensor& t : tensors) made.push_back(t.defined() ? shallow_copy(t) : Tensor());
  if (!autograd::grad_mode() || !autograd::needs_grad(tensors)) return made;
  Marker* node;
  const autograd::NodeRef ref = autograd::new_node(node, std::move(title), std::move(message));
  for (const Tensor& t : tensors) autograd::connect(node->edges, t);
  for (const Tensor& t : made)
    if (t.defined()) autograd::set_history(t, node);
  return made;
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
    MT_CHECK(grad.defined(), "can't replace a None gradient with a non-None value");
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
  return [held = hold(callable), node](autograd::Grads, autograd::Grads arrived) {
    const Tensor leaf = node->variable();
    if (!leaf.defined() || !arrived[0].defined()) return;
    const PythonLock gil;
    const nb::object made = nb::borrow(held.get())(nb::steal(wrap(leaf)));
    MT_CHECK(made.is_none(), "Tensor post accumulate grad hooks should return None.");
  };
}

// Note [Ragged sizes] in src/mindtorch_v2/nested/_internal/nested_int.py.
constexpr int64_t kFirstRagged = int64_t(1) << 33;

bool is_nested(const InputMetadata& input) {
  return std::ranges::any_of(input.meta.sizes, [](int64_t size) { return size > kFirstRagged; });
}

nb::object shape_of(const InputMetadata& input) {
  const nb::object native = nb::steal(size_object(IntList(input.meta.sizes)));
  if (!is_nested(input)) return native;
  return nb::module_::import_("mindtorch_v2.nested._internal.nested_int").attr("public_size")(native);
}

void init_autograd(nb::module_& m) {
  nb::class_<HookHandle>(m, "_HookHandle")
      .def_ro("id", &HookHandle::id)
      .def("remove", &HookHandle::remove)
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__", [](const HookHandle& self, nb::args) { self.remove(); });
  nb::class_<InputMetadata>(m, "_InputMetadata")
      .def_prop_ro("shape", &shape_of)
      .def_prop_ro("dtype",
                   [](const InputMetadata& self) { return nb::steal(dtype_object(self.meta.dtype)); })
      .def_prop_ro("device",
                   [](const InputMetadata& self) { return nb::steal(device_object(self.meta.device)); })
      .def_prop_ro("is_nested_tensor", &is_nested)
      .def_prop_ro("is_cpp_nested_tensor", [](const InputMetadata&) { return false; });
  static PyType_Slot node_slots[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(+[](PyObject* self, visitproc visit, void* arg) {
         Py_VISIT(Py_TYPE(self));
         return nb::inst_ready(self) ? traverse_node(nb::inst_ptr<NodeHandle>(self)->get(), visit, arg) : 0;
       })},
      {Py_tp_clear, reinterpret_cast<void*>(+[](PyObject* self) {
         clear_node(nb::inst_ptr<NodeHandle>(self)->get());
         return 0;
       })},
      {0, nullptr}};
  nb::class_<NodeHandle>(m, "Node", nb::is_weak_referenceable(), nb::type_slots(node_slots))
      .def("name", [](const NodeHandle& self) { return self.get()->name(); })
      .def_prop_ro("next_functions", [](const NodeHandle& self) { return nb::tuple(next_functions(self)); })
      .def_prop_ro("metadata", [](const NodeHandle& self) { return nb::borrow(metadata_of(self.get())); })
      .def_prop_ro("_input_metadata", input_metadata)
      .def_prop_ro("requires_grad", [](const NodeHandle&) { return true; })
      .def("_sequence_nr", [](const NodeHandle& self) { return self.get()->sequence; })
      .def("_set_sequence_nr", [](NodeHandle& self, uint64_t number) { self.get()->sequence = number; })
      .def("register_hook", register_node_hook)
      .def("__call__", call_node)
      .def("__getattr__", attribute_of)
      .def("__dir__",
           [](nb::handle self) {
             const nb::object plain = nb::borrow(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
             nb::list names(plain.attr("__dir__")(self));
             names.extend(nb::steal(saved_names(*nb::cast<NodeHandle&>(self).get())));
             return names;
           })
      .def("register_prehook", register_node_prehook)
      .def("__repr__", [](const NodeHandle& self) {
        const std::string_view name = short_name(self.get()->name());
        return join_text("<", name, " object at ", static_cast<void*>(self.get()), ">");
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
  m.def("_view_making", [](const Tensor& view) {
    MT_CHECK(view.is_view(), "how a view was made is asked of a tensor that is no view");
    return int(view.impl()->view_making);
  });
  m.def("_set_view_making", [](const Tensor& view, int making) {
    MT_CHECK(view.is_view(), "how a view was made is told of a tensor that is no view");
    view.impl()->view_making = ViewMaking(making);
  });
  m.def("_node_type", [](const char* name) { return nb::borrow(node_type(name)); });
  m.def("_current_graph_task_id", autograd::running_pass);
  m.def("_reentrant_passes_allowed", autograd::runs_everything);
  m.def("_next_sequence_nr", autograd::next_sequence);
  static bool multithreading = true, view_replay = false;  // PyTorch's settings that are only remembered
  m.def("_is_multithreading_enabled", [] { return multithreading; });
  m.def("_set_multithreading_enabled", [](bool on) { multithreading = on; });
  m.def("_is_view_replay_enabled", [] { return view_replay; });
  m.def("_set_view_replay_enabled", [](bool on) { view_replay = on; });
  m.def("_pass_keeps_graph", autograd::running_pass_keeps_graph);
  m.def("_marked", marked);
  m.def("_current_autograd_node", [] {
    autograd::Node* node = autograd::running_node();
    return node ? nb::steal(wrap_node(node)) : nb::none();
  });
  // The result of an operator whose derivative nobody has written: backward says so.
  m.def("_without_derivative", [](const Tensor& made, const std::string& op, const Tensor& of) {
    if (!autograd::any_needs_grad(of)) return;
    Marker* node;
    const autograd::NodeRef ref =
        autograd::new_node(node, "NotImplemented", "the derivative for '" + op + "' is not implemented.");
    autograd::connect(node->edges, of);
    autograd::set_history(made, node);
  });
  m.def("_will_engine_execute_node", [](nb::handle node) {
    MT_CHECK(!is_tensor(node.ptr()),
             "_will_engine_execute_node expects an grad_fn, but got torch.Tensor: ask for its grad_fn");
    return autograd::will_run(*node_of(node.ptr()));
  });
  m.def("_current_graph_task_execution_order", [] {
    nb::list out;
    const std::vector<autograd::Node*> nodes = autograd::nodes_to_run();
    MT_CHECK(
        !multithreading,
        "_current_graph_task_execution_order expects the current backward to be executed with multithreading "
        "disabled, e.g. by running:\n\nwith torch.autograd.set_multithreading_enabled(False):\n    ...");
    for (autograd::Node* node : nodes) out.append(nb::steal(wrap_node(node)));
    return out;
  });
  // Whether the pass of this thread comes by the node at all.
  m.def("_node_runs", [](nb::handle node) { return autograd::comes_by(*node_of(node.ptr())); });
  m.def("_queue_callback", [](nb::callable callback) {
    autograd::at_end_of_pass([held = hold(callback.ptr())] {
      const PythonLock gil;
      nb::borrow(held.get())();
    });
  });
  m.def("_increment_version", [](const Tensor& tensor) { tensor.bump_version(); });
  m.def("is_grad_enabled", [] { return thread_state().grad_enabled; });
  m.def("_set_grad_enabled", [](bool enabled) { thread_state().grad_enabled = enabled; });
}

}  // namespace mt::bindings
