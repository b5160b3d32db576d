// torch.autograd.Function and anomaly mode: parts of autograd whose content is Python.
#include "autograd/engine.h"
#include "autograd/without_history.h"
#include "base/per_thread.h"
#include "bindings/asking.h"
#include "bindings/casters.h"
#include "bindings/node_object.h"
#include "bindings/parser.h"
#include "bindings/python_lock.h"
#include "core/warn.h"
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
  enum class Result : uint8_t { differentiable, constant, no_tensor };
  std::vector<Result> results;  // of forward, each of which is an output of the node
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
  const nb::handle ctx(context);
  const bool materialize = nb::cast<bool>(ctx.attr("_materialize_grads"));
  const auto zeros_for = [&](Result result) {
    if (result == Result::no_tensor || !materialize) return false;
    return result == Result::differentiable || nb::cast<bool>(ctx.attr("_materialize_non_diff_grads"));
  };
  nb::list list;
  for (uint32_t i = 0; i < results.size(); ++i) {
    const Tensor grad = autograd::gradient_of_output(grads, i);
    const autograd::OutputMeta& meta = output_meta(i);
    if (grad.defined() || !zeros_for(results[i])) list.append(nb::steal(wrap(grad)));
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

// What a Function's forward was given and made; None stands for arguments that are no tensors.
struct Call {
  std::vector<Tensor> inputs, dirty, constant;
  size_t results;
};

void check_dirty(const Call& call, const std::vector<nb::object>& outputs) {
  for (const Tensor& written : call.dirty) {
    MT_CHECK(
        std::ranges::any_of(
            outputs,
            [&](const nb::object& o) { return is_tensor(o.ptr()) && tensor_of(o.ptr()).same(written); }),
        "Some elements marked as dirty during the forward method were not returned as output. The inputs "
        "that are modified inplace must all be outputs of the Function.");
    if (!contains(call.inputs, written))
      warn(
          "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
          "mutated "
          "should be passed to ctx.mark_dirty().");
  }
}

// A tensor of its own on the same memory; a class that takes functions over is asked.
Tensor alias_of(const Tensor& t) {
  const autograd::WithoutHistory off;
  const nb::object given = nb::steal(wrap(t));
  return may_ask(given.ptr()) ? tensor_of(given.attr("view_as")(given).ptr()) : ops::alias(t);
}

// A result that is no part of the graph: an input that is returned as it was becomes a tensor of its own.
Tensor unrecorded_result(const Tensor& t, const Call& call) {
  if (!contains(call.inputs, t)) return autograd::requires_grad(t) && !t.is_view() ? shallow_copy(t) : t;
  if (autograd::requires_grad(t)) return ops::detach(t);
  return contains(call.dirty, t) ? t : alias_of(t);
}

// A result that the node makes.
Tensor recorded_result(Tensor t, const Call& call, const autograd::NodeRef& ref) {
  if (contains(call.dirty, t)) {
    if (autograd::is_leaf(t))
      MT_CHECK(!t.impl()->requires_grad,
               "a leaf Variable that requires grad has been used in an in-place operation.");
    MT_CHECK(!t.is_view() || call.results == 1,
             "If your Function modifies inplace an input that is a view of another Tensor, your Function "
             "cannot return more than one Tensor. This is not supported by the current autograd engine. You "
             "should either make sure the input is not a view (using .clone() for example) or make your "
             "Function only return one Tensor (potentially splitting it into two Functions: one doing the "
             "inplace that returns a single Tensor and a second one that does the other operations).");
    autograd::check_rebase(t);
    autograd::rebase_history(t, autograd::NodeRef(ref));
    return t;
  }
  if (contains(call.inputs, t)) t = alias_of(t);
  autograd::change_history(t, autograd::NodeRef(ref));
  return t;
}

// Of a view that a Function made nobody may rebuild the history.
void mark_view(const Tensor& t, const Call& call, size_t recorded) {
  if (!t.is_view() || (contains(call.inputs, t) && contains(call.dirty, t))) return;
  t.impl()->view_making = recorded > 1 ? ViewMaking::one_of_many : ViewMaking::in_function;
}

void save_tensors(PythonNode& node, const std::vector<Tensor>& to_save, const std::vector<Tensor>& made) {
  node.saved.resize(to_save.size());
  for (size_t i = 0; i < to_save.size(); ++i) {
    if (!to_save[i].defined()) continue;
    const bool own_result = contains(made, to_save[i]) && to_save[i].impl()->grad_fn == &node;
    if (own_result) node.saved[i].save_output(to_save[i], to_save[i].impl()->output_nr);
    else node.saved[i].save(to_save[i]);
  }
}

// Gives the outputs of a Function's forward their history, if there is a node for it.
std::vector<nb::object> finish_outputs(PythonNode* node, const autograd::NodeRef& ref, const Call& call,
                                       const std::vector<nb::object>& outputs,
                                       const std::vector<Tensor>& to_save) {
  using Result = PythonNode::Result;
  check_dirty(call, outputs);
  std::vector<nb::object> finished;
  std::vector<Tensor> made;
  size_t recorded = 0;
  for (const nb::object& output : outputs) {
    if (!is_tensor(output.ptr())) {
      finished.push_back(output);
      if (!node) continue;
      node->results.push_back(Result::no_tensor);
      node->add_output(autograd::OutputMeta{Dims(), DType::float32, Device()});
      continue;
    }
    Tensor t = tensor_of(output.ptr());
    const bool records = node && !contains(call.constant, t) && is_differentiable(t.dtype());
    recorded += records;
    if (records) {
      t = recorded_result(std::move(t), call, ref);
    } else {
      t = unrecorded_result(t, call);
      if (node) node->add_output(t);
    }
    if (node) node->results.push_back(records ? Result::differentiable : Result::constant);
    made.push_back(t);
    finished.push_back(t.same(tensor_of(output.ptr())) ? output : nb::steal(wrap(t)));
    track(finished.back().ptr());
  }
  for (const Tensor& t : made) mark_view(t, call, recorded);
  if (node) save_tensors(*node, to_save, made);
  return finished;
}

Call call_of(const std::vector<nb::object>& arguments, const std::vector<nb::object>& outputs,
             std::vector<Tensor> dirty, std::vector<Tensor> constant) {
  Call call{{}, std::move(dirty), std::move(constant), outputs.size()};
  for (const nb::object& argument : arguments)
    if (is_tensor(argument.ptr())) call.inputs.push_back(tensor_of(argument.ptr()));
  return call;
}

Attached attach_function(nb::object context, std::string title, const std::vector<nb::object>& arguments,
                         const std::vector<nb::object>& outputs, const std::vector<Tensor>& to_save,
                         std::vector<Tensor> dirty, std::vector<Tensor> constant) {
  PythonNode* node;
  const autograd::NodeRef ref = autograd::new_node(node);
  node->context = context.inc_ref().ptr();
  node->title = std::move(title);
  for (const nb::object& argument : arguments) {
    const bool tensor = is_tensor(argument.ptr());
    node->edge_of_argument.push_back(tensor ? int(node->edges.size()) : -1);
    if (tensor) autograd::connect(node->edges, tensor_of(argument.ptr()));
  }
  const Call call = call_of(arguments, outputs, std::move(dirty), std::move(constant));
  return {{node->link}, finish_outputs(node, ref, call, outputs, to_save)};
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

// Results get their edge to the node back in every pass: a backward may differentiate what it does with them.
std::vector<Tensor> saved_of(const NodeLink& link) {
  PythonNode* node = &alive(link);
  std::vector<Tensor> out;
  for (const autograd::SavedTensor& s : node->saved) out.push_back(s.unpack(*node, true));
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
    PyErr_Print();  // the first error is the one to raise
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
    Attached made = attach_function(context, std::move(title), arguments, outputs, to_save, std::move(dirty),
                                    std::move(constant));
    return std::make_pair(made.link, made.outputs);
  });
  m.def("_unrecorded_outputs",
        [](std::vector<nb::object> arguments, std::vector<nb::object> outputs, std::vector<Tensor> dirty) {
          return finish_outputs(nullptr, {}, call_of(arguments, outputs, std::move(dirty), {}), outputs, {});
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
