// What nodes keep for backward, as Python sees it: grad_fn._saved_*, grad_fn._raw_saved_*, and saved_tensors_hooks.
#include "base/per_thread.h"
#include "bindings/casters.h"
#include "bindings/node_object.h"
#include "bindings/owned.h"
#include "bindings/python_lock.h"
#include "bindings/values.h"

namespace nb = nanobind;

namespace mt::bindings {
namespace {

struct Restore {
  void* packer;
  bool grad_enabled = std::exchange(thread_state().grad_enabled, false);
  ~Restore() { thread_state().packer = packer, thread_state().grad_enabled = grad_enabled; }
};

struct PythonPacked final : autograd::PackedTensor {
  PyObject *value, *unpacker;  // owned
  PythonPacked(PyObject* v, PyObject* u) : value(v), unpacker(u) { Py_INCREF(unpacker); }
  ~PythonPacked() override {
    if (!Py_IsInitialized()) return;
    const PythonLock gil;
    Py_DECREF(value), Py_DECREF(unpacker);
  }
  Tensor unpack() override {
    const PythonLock gil;
    const Restore restore{thread_state().packer};
    nb::object made = nb::borrow(unpacker)(nb::borrow(value));
    MT_CHECK_AS(type, is_tensor(made.ptr()),
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type ",
                Py_TYPE(made.ptr())->tp_name);
    return tensor_of(made.ptr());
  }
};

struct PythonPacker final : autograd::SavedTensorPacker {
  nb::object pack_hook, unpack_hook;
  PythonPacker(nb::object pack, nb::object unpack)
      : pack_hook(std::move(pack)), unpack_hook(std::move(unpack)) {}
  std::unique_ptr<autograd::PackedTensor> pack(const Tensor& tensor) override {
    const PythonLock gil;
    // What the hook itself saves is not packed again.
    const Restore restore{std::exchange(thread_state().packer, nullptr)};
    const uint32_t version = tensor.version();
    const Tensor given = autograd::requires_grad(tensor) ? shallow_copy(tensor) : tensor;
    nb::object value = pack_hook(nb::steal(wrap(given)));
    MT_CHECK(tensor.version() == version,
             "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
             "hook can not be modified by in-place operations as this can lead to unexpected side-effects. "
             "Please open an issue if you need to perform in-place operations on the input to a pack hook.");
    return std::make_unique<PythonPacked>(value.release().ptr(), unpack_hook.ptr());
  }
};

struct PackerStack {
  Packers packers;
  std::string disabled;  // why hooks may not be used now
};
constinit PerThread<PackerStack> t_packers;

void use_top() {
  auto& packers = t_packers->packers;
  thread_state().packer = packers.empty() ? nullptr : packers.back().get();
}
void push_packer(nb::object pack, nb::object unpack) {
  MT_CHECK(t_packers->disabled.empty(), t_packers->disabled);
  t_packers->packers.push_back(std::make_shared<PythonPacker>(std::move(pack), std::move(unpack)));
  use_top();
}
void pop_packer() {
  MT_CHECK(!t_packers->packers.empty(),
           "saved_tensors_hooks was left without having been entered: there are no hooks to take away");
  t_packers->packers.pop_back();
  use_top();
}
nb::object top_packer() {
  if (t_packers->packers.empty()) return nb::none();
  const auto& top = static_cast<const PythonPacker&>(*t_packers->packers.back());
  return nb::make_tuple(top.pack_hook, top.unpack_hook);
}

// One tensor that a node keeps.
struct SavedHandle {
  autograd::NodeRef owner;
  autograd::SavedTensor* saved;
  autograd::Node& node() const { return *static_cast<autograd::Node*>(owner.get()); }

  PythonPacked* packed() const { return static_cast<PythonPacked*>(saved->packed()); }
  nb::object unpack() const { return nb::steal(wrap(saved->unpack(node()))); }
  nb::object data() const {
    if (saved->freed()) return nb::none();
    return packed() ? nb::borrow(packed()->value) : unpack();
  }
  nb::object unpack_hook() const { return packed() ? nb::borrow(packed()->unpacker) : nb::none(); }
  void register_hooks(nb::callable pack, nb::callable unpack) {
    PythonPacker packer(std::move(pack), std::move(unpack));
    saved->repack(node(), packer);
  }
};

// Finds what is shown under a name.
struct Find final : autograd::SavedReader {
  Find(autograd::Node& of, std::string_view name, bool as_kept) : node(of), wanted(name), raw(as_kept) {}
  autograd::Node& node;
  std::string_view wanted;
  bool raw;
  PyObject* found = nullptr;

  PyObject* one(autograd::SavedTensor& kept) const {
    return raw ? wrap_saved(node, kept) : wrap(kept.unpack(node));
  }
  void tensor(const char* name, autograd::SavedTensor& kept) override {
    if (name == wanted) found = one(kept);
  }
  void list(const char* name, std::span<autograd::SavedTensor> kept) override {
    if (name != wanted) return;
    Owned items(PyTuple_New(Py_ssize_t(kept.size())));
    for (size_t i = 0; i < kept.size(); ++i)
      PyTuple_SET_ITEM(items.object, Py_ssize_t(i), Owned(one(kept[i])).release());
    found = items.release();
  }
  void value(const char* name, const Value& kept) override {
    if (name != wanted || raw) return;
    Owned made(to_python(kept));
    found = PyList_Check(made.object) ? PyList_AsTuple(made.object) : made.release();
  }
};

struct Names final : autograd::SavedReader {
  nb::list found;
  void tensor(const char* name, autograd::SavedTensor&) override {
    value(name, {});
    found.append(nb::str(("_raw_saved_" + std::string(name)).c_str()));
  }
  void list(const char* name, std::span<autograd::SavedTensor> kept) override {
    (void)kept;
    value(name, {});
    found.append(nb::str(("_raw_saved_" + std::string(name)).c_str()));
  }
  void value(const char* name, const Value&) override {
    found.append(nb::str(("_saved_" + std::string(name)).c_str()));
  }
};

}  // namespace

PyObject* wrap_saved(autograd::Node& node, autograd::SavedTensor& saved) {
  return nb::cast(SavedHandle{autograd::NodeRef::share(&node), &saved}).release().ptr();
}

Packers packers_of_thread() { return t_packers->packers; }

void put_packers_back(Packers packers) {
  t_packers->packers.swap(packers);
  use_top();
}

PyObject* saved_attribute(autograd::Node& node, std::string_view name) {
  constexpr std::string_view kRaw = "_raw_saved_", kValue = "_saved_";
  const bool raw = name.starts_with(kRaw);
  if (!raw && !name.starts_with(kValue)) return nullptr;
  Find reader(node, name.substr(raw ? kRaw.size() : kValue.size()), raw);
  node.read_saved(reader);
  return reader.found;
}

PyObject* saved_names(autograd::Node& node) {
  Names reader;
  node.read_saved(reader);
  return reader.found.release().ptr();
}

void init_saved(nb::module_& m) {
  nb::class_<SavedHandle>(m, "SavedTensor")
      .def("__init__",
           [](nb::handle, nb::args, nb::kwargs) {
             fail(ErrorKind::runtime,
                  "Trying to create a SavedTensor object from Python is forbidden. Nodes have them: "
                  "grad_fn._raw_saved_<name>");
           })
      .def("register_hooks", &SavedHandle::register_hooks)
      .def("unpack", &SavedHandle::unpack)
      .def_prop_ro("data", &SavedHandle::data)
      .def_prop_ro("unpack_hook", &SavedHandle::unpack_hook);
  m.def("_push_saved_tensors_hooks", push_packer);
  m.def("_pop_saved_tensors_hooks", pop_packer);
  m.def("_top_saved_tensors_hooks", top_packer);
  m.def("_disable_saved_tensors_hooks", [](std::string why) {
    MT_CHECK(t_packers->packers.empty() || why.empty(), why);
    return std::exchange(t_packers->disabled, std::move(why));
  });
  m.def("_why_saved_tensors_hooks_are_disabled", [] { return t_packers->disabled; });
}

}  // namespace mt::bindings
