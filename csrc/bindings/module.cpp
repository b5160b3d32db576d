// mindtorch_v2._C: everything native.
#include "backends/cpu/cpu.h"
#include "bindings/asking.h"
#include "bindings/backends.h"
#include "bindings/casters.h"
#include "bindings/init_accelerator.h"
#include "bindings/overrides.h"
#include "bindings/parser.h"
#include "bindings/python_lock.h"
#include "bindings/python_upstream.h"
#include "bindings/return_types.h"
#include "bindings/storage_object.h"
#include "core/determinism.h"
#include "core/host_lock.h"
#include "core/host_memory.h"
#include "core/warn.h"
#include "infer/infer.h"
#include "kernels/common/cpu_features.h"
#include "kernels/common/parallel.h"
#include "ops/register_operators.h"
#include "transforms/forward.h"
#include "transforms/register_transforms.h"

namespace nb = nanobind;

namespace mt::bindings {

void init_autograd(nb::module_& m);
void init_autocast(nb::module_& m);
void init_dispatch(nb::module_& m);
void init_forward(nb::module_& m);
void init_lists(nb::module_& m);
void init_distributed(nb::module_& m);
void init_dlpack(nb::module_& m);
void init_modules(nb::module_& m);
void init_python_node(nb::module_& m);
void init_saved(nb::module_& m);
void init_sparse(nb::module_& m);
void init_storage(nb::module_& m);
void init_allocator(nb::module_& m);
void init_memory_tools(nb::module_& m);
void init_profiler(nb::module_& m);
void init_transforms(nb::module_& m);

std::vector<BackendInit::Init*>& BackendInit::all() {
  static std::vector<Init*> backends;
  return backends;
}

namespace {

void* release_gil() { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; }
void take_gil(void* state) { take_python_lock(static_cast<PyThreadState*>(state)); }

void init_errors(nb::module_& m) {
  g_out_of_memory_error = PyErr_NewExceptionWithDoc("mindtorch_v2.OutOfMemoryError",
                                                    "A device has no memory left for an allocation.",
                                                    PyExc_RuntimeError, nullptr);
  m.attr("OutOfMemoryError") = nb::borrow(g_out_of_memory_error);
  g_accelerator_error = PyErr_NewExceptionWithDoc(
      "mindtorch_v2.AcceleratorError", "A call to a device failed; `error_code` is what the driver answered.",
      PyExc_RuntimeError, nullptr);
  m.attr("AcceleratorError") = nb::borrow(g_accelerator_error);
  g_linear_algebra_error = PyErr_NewExceptionWithDoc(
      "mindtorch_v2.linalg.LinAlgError",
      "A matrix that the operation is not defined for, such as a singular one.", PyExc_RuntimeError, nullptr);
  m.attr("_LinAlgError") = nb::borrow(g_linear_algebra_error);
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error&) { set_python_error(); } catch (const PythonError&) {
      set_python_error();
    }
  });
}

// The operators as functions: those of torch itself in _functions, the others in _linalg, _fft, …
void init_functions(nb::module_& m) {
  static FunctionTables tables;  // the interpreter keeps pointers into it
  add_generated_functions(tables);
  for (auto& [name, functions] : tables) {
    const std::string module = name.empty() ? "_functions" : "_" + name;
    functions.push_back({nullptr, nullptr, 0, nullptr});
    nb::module_ made = m.def_submodule(module.c_str(), "Operators as functions.");
    if (PyModule_AddFunctions(made.ptr(), functions.data()) < 0) throw nb::python_error();
    // A row is named for its module (linalg_inv is linalg.inv), but for those of nn.
    const std::string prefix = name.empty() || name == "nn" ? "" : name + "_";
    for (const PyMethodDef& f : functions)
      if (f.ml_name) remember_function(prefix + f.ml_name, made.attr(f.ml_name).ptr());
  }
}

void init_settings(nb::module_& m) {
  m.def("get_default_dtype", default_dtype);
  m.def("set_default_dtype", set_default_dtype);
  m.def("_get_default_device", default_device);
  m.def("_set_default_device", [](Device device) { set_default_device(device); });
  m.def("promote_types", promote);
  m.def("can_cast", can_cast, nb::arg("from_"), nb::arg("to"));
  m.def("_result_type", [](const Tensor& a, nb::object b) {
    return is_tensor(b.ptr()) ? infer::result_type(a, tensor_of(b.ptr()))
                              : infer::result_type(a, number_from(b.ptr()));
  });
  m.def("_overrides_enabled", [] { return thread_state().overrides_enabled; });
  m.def("_set_overrides_enabled",
        [](bool on) { return std::exchange(thread_state().overrides_enabled, on); });
  // Types whose __torch_function__ is this one are treated as plain tensors, also by a subclass that calls it with super().
  m.def(
      "_disabled_torch_function_impl",
      [](nb::object function, nb::object, nb::tuple args, nb::object kwargs) {
        struct Off {
          bool before = std::exchange(thread_state().overrides_enabled, false);
          ~Off() { thread_state().overrides_enabled = before; }
        } off;
        return function(*args, **(kwargs.is_none() ? nb::dict() : nb::cast<nb::dict>(kwargs)));
      },
      nb::arg("func"), nb::arg("types"), nb::arg("args") = nb::tuple(),
      nb::arg("kwargs").none() = nb::none());
  m.def("_somebody_asks", [](nb::tuple objects) { return somebody_asks(objects.ptr()); });
  m.def("_ask_for",
        [](nb::object function, const char* name, nb::tuple objects, nb::tuple args, nb::dict kwargs) {
          return nb::steal(ask_for(function.ptr(), name, objects.ptr(), args.ptr(), kwargs.ptr()));
        });
  m.def("_set_function_modes", set_function_modes);
  m.def("_set_quiet_type",
        [](nb::type_object type) { set_quiet_type(reinterpret_cast<PyTypeObject*>(type.ptr())); });
  m.def("_set_mode_handler", [](nb::object handler) { set_mode_handler(handler.ptr()); });
  m.def("get_num_threads", kernels::get_num_threads);
  m.def("set_num_threads", kernels::set_num_threads);
  mt::g_warn = [](const std::string& text) {
    if (interpreter_is_exiting()) return;
    const PythonLock gil;
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) nb::raise_python_error();
  };
  m.def("_return_type_names", return_type_names);
  m.def("_return_type", [](const std::string& name) {
    return nb::borrow(reinterpret_cast<PyObject*>(return_type_named(name)));
  });
  m.def("_set_warn_always", [](bool always) { g_warn_always = always; });
  m.def("_is_warn_always", [] { return g_warn_always.load(); });
  m.def("_set_deterministic_algorithms", [](bool mode, bool warn_only) {
    g_determinism.wanted = mode;
    g_determinism.warn_only = warn_only;
  });
  m.def("_get_deterministic_algorithms", [] { return g_determinism.wanted.load(); });
  m.def("_get_deterministic_algorithms_warn_only", [] { return g_determinism.warn_only.load(); });
  m.def("_set_deterministic_fill_uninitialized_memory", [](nb::handle mode) {
    MT_CHECK(PyBool_Check(mode.ptr()), "expected a bool, but got ", Py_TYPE(mode.ptr())->tp_name);
    g_determinism.fill_memory = mode.ptr() == Py_True;
  });
  m.def("_get_deterministic_fill_uninitialized_memory", [] { return g_determinism.fill_memory.load(); });
  m.def("_host_empty_cache", host_empty_cache);
  m.def("_host_cached_bytes", host_cached_bytes);
}

}  // namespace
}  // namespace mt::bindings

NB_MODULE(_C, m) {
  using namespace mt::bindings;
  nb::set_leak_warnings(false);  // tensors and types of a module that is never unloaded are not leaks
  init_errors(m);
  mt::kernels::check_level();
  if (!create_value_types(m.ptr()) || !create_tensor_type(m.ptr()) || !create_storage_type(m.ptr()))
    throw nb::python_error();
  init_functions(m);
  mt::g_host_lock = {release_gil, take_gil};
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(end_calls_into_python));
  init_settings(m);
  init_autograd(m);
  init_autocast(m);
  init_python_node(m);
  init_saved(m);
  init_dispatch(m);
  init_modules(m);
  init_sparse(m);
  init_lists(m);
  init_transforms(m);
  init_forward(m);
  init_distributed(m);
  init_dlpack(m);
  init_storage(m);
  init_allocator(m);
  init_memory_tools(m);
  init_profiler(m);
  add_accelerators(m);
  mt::register_operators();
  mt::batch::install();
  mt::forward::register_forward_rules();
  mt::cpu::register_cpu_backend();
  for (BackendInit::Init* init : BackendInit::all()) init(m);
}
