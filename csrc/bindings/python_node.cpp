// torch.autograd.Function and anomaly mode: parts of autograd whose content is Python.
#include "autograd/engine.h"
#include "base/per_thread.h"
#include "bindings/casters.h"
#include "bindings/node_object.h"
#include "bindings/parser.h"
#include "bindings/python_lock.h"
#include "generated/ops/creation.h"
#include "generated/ops/view.h"

namespace nb = nanobind;

namespace mt::bindings {
namespace {

// The backward of a Function. It owns the context; the context finds its node through a link that does not own,
// because two owners would never die.
struct PythonNode;
struct NodeLink {
  std::shared_ptr<PythonNode*> node;
};

struct PythonNode final : autograd::Node {
  PyObject* context = nullptr;  // owned
  std::string title;
  std::vector<int> edge_of_argument;  // -1 for arguments that are no tensors
  std::vector<int> output_of_result;  // -1 for results of forward that backward gets None for
  std::vector<autograd::SavedTensor> saved;
  std::shared_ptr<PythonNode*> link = std::make_shared<PythonNode*>(this);
  bool freed = false;

  ~PythonNode() override {
    *link = nullptr;
    if (!context || !Py_IsInitialized()) return;
    const PythonLock gil;
    Py_DECREF(context);
  }
  const char* name() const override { return title.c_str(); }
  void release_saved() override {
    for (autograd::SavedTensor& s : saved) s.release();
    freed = true;
  }
  void apply(autograd::Grads grads, autograd::Grads out, uint64_t) override;
  nb::object arguments_for(autograd::Grads grads) const;
};

nb::object PythonNode::arguments_for(autograd::Grads grads) const {
  const bool materialize = nb::cast<bool>(nb::borrow(context).attr("_materialize_grads"));
  nb::list list;
  for (const int output : output_of_result) {
    if (output < 0) {
      list.append(nb::none());
      continue;
    }
    const Tensor grad = autograd::gradient_of_output(grads, size_t(output));
    const autograd::OutputMeta& meta = output_meta(uint32_t(output));
    if (grad.defined() || !materialize) list.append(nb::steal(wrap(grad)));
    else list.append(nb::steal(wrap(ops::zeros(meta.sizes, {meta.dtype, meta.device}))));
  }
  return nb::tuple(list);
}

void PythonNode::apply(autograd::Grads grads, autograd::Grads out, uint64_t) {
  const PythonLock gil;
  nb::object made = nb::borrow(context).attr("_run_backward")(*nb::tuple(arguments_for(grads)));
  nb::tuple results = nb::isinstance<nb::tuple>(made) ? nb::borrow<nb::tuple>(made) : nb::make_tuple(made);
  size_t count = results.size();
  while (count > edge_of_argument.size() && results[count - 1].is_none()) --count;
  MT_CHECK(count == edge_of_argument.size(), "function ", title,
           " returned an incorrect number of gradients (expected ", edge_of_argument.size(), ", got ",
           results.size(), ")");
  for (size_t i = 0; i < count; ++i) {
    nb::handle grad = results[i];
    if (grad.is_none()) continue;
    const int edge = edge_of_argument[i];
    MT_CHECK(edge >= 0, "function ", title, " returned a gradient different from None at position ", i + 1,
             ", but the corresponding forward input was not a Variable");
    MT_CHECK(is_tensor(grad.ptr()), "expected Variable or None (got ", Py_TYPE(grad.ptr())->tp_name, ")");
    out[size_t(edge)] = tensor_of(grad.ptr());
  }
}

bool contains(const std::vector<Tensor>& list, const Tensor& t) {
  return std::ranges::any_of(list, [&](const Tensor& other) { return other.same(t); });
}

struct Attached {
  NodeLink link;
  std::vector<nb::object> outputs;
};

// Gives the outputs of a Function's forward their history. `arguments` holds None for what is no tensor.
Attached attach_function(nb::object context, std::string title, const std::vector<nb::object>& arguments,
                         const std::vector<nb::object>& outputs, const std::vector<Tensor>& to_save,
                         const std::vector<Tensor>& dirty, const std::vector<Tensor>& constant) {
  PythonNode* node;
  const autograd::NodeRef ref = autograd::new_node(node);
  node->context = context.inc_ref().ptr();
  node->title = std::move(title);
  std::vector<Tensor> inputs;
  for (const nb::object& argument : arguments) {
    if (!is_tensor(argument.ptr())) {
      node->edge_of_argument.push_back(-1);
      continue;
    }
    node->edge_of_argument.push_back(int(node->edges.size()));
    inputs.push_back(tensor_of(argument.ptr()));
    autograd::connect(node->edges, inputs.back());
  }
  for (const Tensor& t : dirty)
    MT_CHECK(contains(inputs, t), "mark_dirty only accepts input tensors, but argument is not an input");
  Attached attached{{node->link}, {}};
  std::vector<Tensor> made;
  for (const nb::object& output : outputs) {
    if (!is_tensor(output.ptr())) {
      attached.outputs.push_back(output);
      node->output_of_result.push_back(-1);
      continue;
    }
    const uint32_t before = node->outputs;
    Tensor t = tensor_of(output.ptr());
    const bool is_dirty = contains(dirty, t);
    if (contains(inputs, t) && !is_dirty) t = ops::alias(ops::detach(t));  // a result of its own
    if (contains(constant, t)) node->add_output(t);
    else if (is_dirty) {
      if (autograd::is_leaf(t))
        MT_CHECK(!t.impl()->requires_grad,
                 "a leaf Variable that requires grad has been used in an in-place operation.");
      autograd::check_rebase(t);
      autograd::rebase_history(t, autograd::NodeRef(ref));
    } else if (autograd::is_leaf(t) || !autograd::requires_grad(t)) autograd::set_history(t, node);
    made.push_back(t);
    node->output_of_result.push_back(node->outputs > before ? int(before) : -1);
    attached.outputs.push_back(t.same(tensor_of(output.ptr())) ? output : nb::steal(wrap(t)));
    track(attached.outputs.back().ptr());
  }
  node->saved.resize(to_save.size());
  for (size_t i = 0; i < to_save.size(); ++i) {
    if (!to_save[i].defined()) continue;
    uint32_t at = 0;
    while (at < made.size() && !made[at].same(to_save[i])) ++at;
    const bool own_result = at < made.size() && to_save[i].impl()->grad_fn == node;
    if (own_result) node->saved[i].save_output(to_save[i], to_save[i].impl()->output_nr);
    else node->saved[i].save(to_save[i]);
  }
  return attached;
}

PythonNode& alive(const NodeLink& link) {
  PythonNode* node = *link.node;
  MT_CHECK(node, "the graph of this context is gone, and its saved tensors with it");
  return *node;
}

nb::tuple raw_saved_of(const NodeLink& link) {
  PythonNode& node = alive(link);
  MT_CHECK(!node.freed || node.saved.empty(), autograd::kFreedText);
  nb::list out;
  for (autograd::SavedTensor& s : node.saved) out.append(nb::steal(wrap_saved(node, s)));
  return nb::tuple(out);
}

std::vector<Tensor> saved_of(const NodeLink& link) {
  PythonNode* node = &alive(link);
  std::vector<Tensor> out;
  for (const autograd::SavedTensor& s : node->saved) out.push_back(s.unpack(*node));
  return out;
}

// ---- anomaly mode ----

void put(PyObject* dictionary, const char* key, nb::handle value) {
  if (PyDict_SetItemString(dictionary, key, value.ptr()) < 0) throw nb::python_error();
}

void remember(autograd::Node& node, autograd::Node* running) {
  const PythonLock gil;
  put(metadata_of(&node), "traceback_", nb::module_::import_("traceback").attr("format_stack")());
  // Itself: the context of a Function would not keep it.
  if (running) put(metadata_of(&node), "parent_", nb::steal(wrap_node_itself(running)));
}

void warn_of(nb::handle name, nb::handle metadata, bool of_error) {
  PyObject* lines = PyDict_GetItemString(metadata.ptr(), "traceback_");
  const std::string stack =
      lines ? nb::cast<std::string>(nb::str("").attr("join")(nb::borrow(lines))) : std::string();
  const char* who = nb::str(name).c_str();
  const std::string text =
      !lines     ? join_text("Error detected in ", who,
                             ". No forward pass information available. Enable detect anomaly during forward pass "
                                 "for more information.")
      : of_error ? join_text("Error detected in ", who,
                             ". Traceback of forward call that caused the error:\n", stack)
                 : join_text("\n\nPrevious calculation was induced by ", who,
                             ". Traceback of forward call that induced the previous calculation:\n", stack);
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0)
    PyErr_Clear();  // the first error is the one to raise
}

void report_anomaly(autograd::Node& node) {
  const PythonLock gil;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  nb::object metadata = nb::borrow(metadata_of(&node));
  warn_of(nb::str(node.name()), metadata, true);
  while (PyObject* parent = PyDict_GetItemString(metadata.ptr(), "parent_")) {
    metadata = nb::borrow(parent).attr("metadata");
    warn_of(nb::borrow(parent).attr("name")(), metadata, false);
  }
  PyErr_Restore(type, value, trace);
}

}  // namespace

PyObject* context_of(autograd::Node* node) {
  auto* python = dynamic_cast<PythonNode*>(node);
  return python ? python->context : nullptr;
}

void init_python_node(nb::module_& m) {
  nb::class_<NodeLink>(m, "_NodeLink")
      .def("saved", saved_of)
      .def("raw_saved", raw_saved_of)
      .def("node", [](const NodeLink& link) {
        return *link.node ? nb::steal(wrap_node_itself(*link.node)) : nb::none();
      });
  m.def("_attach_function", [](nb::object context, std::string title, std::vector<nb::object> arguments,
                               std::vector<nb::object> outputs, std::vector<Tensor> to_save,
                               std::vector<Tensor> dirty, std::vector<Tensor> constant) {
    Attached made = attach_function(context, std::move(title), arguments, outputs, to_save, dirty, constant);
    return std::make_pair(made.link, made.outputs);
  });
  autograd::g_anomaly.remember = remember;
  autograd::g_anomaly.report = report_anomaly;
  m.def("is_anomaly_enabled", [] { return autograd::g_anomaly.on.load(); });
  m.def("is_anomaly_check_nan_enabled", [] { return autograd::g_anomaly.check_nan; });
  m.def("_set_anomaly_enabled", [](bool on, bool check_nan) {
    autograd::g_anomaly.check_nan = check_nan;
    autograd::g_anomaly.on = on;
  });
  m.def("is_inference_mode_enabled", [] { return thread_state().inference; });
  m.def("_set_inference_mode", [](bool on) { return std::exchange(thread_state().inference, on); });
}

}  // namespace mt::bindings
