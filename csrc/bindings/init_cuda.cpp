// _C._cuda: what GPUs have beside what every accelerator has (init_accelerator.cpp).
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "backends/cuda/compiler.h"
#include "backends/cuda/cuda_driver.h"
#include "backends/cuda/rehearsal.h"
#include "bindings/backends.h"
#include "bindings/init_accelerator.h"
#include "bindings/python_lock.h"
#include "bindings/tensor_object.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace mt::bindings {
namespace {

using WithoutGil = nb::call_guard<WithoutPythonLock>;

// Makes "cuda" a device. Without it the name is one of those that programs may say and nothing drives.
void enable() {
  if (find_accelerator(cuda::kSlot)) return;
  cuda::register_cuda_backend();
  add_device_property(name_of(cuda::kSlot), cuda::kSlot);
}

void init(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_cuda", "GPUs.");
  m.def("driver_is_there", &cuda::driver_is_there, WithoutGil(),
        "Whether the driver's library can be opened.");
  m.def("enable", &enable);
  add_accelerator_functions(m, cuda::gpu());
  m.def(
      "probe",
      [] {
        int count = 0;
        if (!cuda::driver_is_there() || cuda::cuda().init(0) != 0 || cuda::cuda().device_count(&count) != 0)
          return 0;
        return count;
      },
      WithoutGil(), "How many devices the driver counts; 0 where it cannot say.");
  m.def("driver_version", [] {
    int version = 0;
    cuda::check(cuda::cuda().driver_version(&version), "cuDriverGetVersion");
    return version;
  });
  m.def("attribute",
        [](int device, int which) { return cuda::driver().attribute(device, cuda::DeviceAttribute(which)); });
  m.def("device_name", [](int device) { return cuda::driver().name(device); });
  m.def("device_uuid", [](int device) {
    const std::string bytes = cuda::driver().uuid(device);
    return nb::bytes(bytes.data(), bytes.size());
  });
  m.def("total_memory", [](int device) { return cuda::driver().total_memory(device); });
  m.def("stream_priority_range", [] {
    int least = 0, greatest = 0;
    const int device = cuda::gpu().current_device();
    cuda::gpu().open(device);
    cuda::gpu().activate(device);
    cuda::check(cuda::cuda().priority_range(&least, &greatest), "cuCtxGetStreamPriorityRange");
    return std::make_pair(least, greatest);
  });
  m.def("can_access_peer", [](int device, int peer) { return cuda::driver().can_access_peer(device, peer); });
  m.def(
      "compile",
      [](const std::string& source, const std::string& architecture) {
        std::string code;
        {
          WithoutPythonLock released;
          code = cuda::compile(source, architecture);
        }
        return nb::bytes(code.data(), code.size());
      },
      "source"_a, "architecture"_a, "Machine code of a kernel's text.");
  m.def("compile_ahead", &cuda::compile_ahead, WithoutGil(), "source"_a, "architecture"_a,
        "Compiles a program for the folder of machine code; False: it is there already.");
  m.def("cache_folder", &cuda::cache_folder);
  m.def("rehearse", &cuda::rehearse, "architecture"_a,
        "From now on this process has a device that does nothing, and notes the programs it is asked for.");
  m.def("rehearsed_programs", &cuda::rehearsed_programs);
}

const BackendInit registered_cuda(init);

}  // namespace
}  // namespace mt::bindings
