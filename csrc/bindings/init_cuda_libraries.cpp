// _C._cuda.VendorLibrary: NVIDIA's libraries, where they were found and which are missing.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "backends/cuda/vendor_library.h"
#include "bindings/backends.h"
#include "bindings/python_upstream.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace mt::bindings {
namespace {

using cuda::VendorLibrary;

std::vector<std::string> folders_of_python() {
  return with_python([] {
    std::vector<std::string> found;
    for (nb::handle folder : nb::module_::import_("sys").attr("path"))
      if (nb::isinstance<nb::str>(folder)) found.push_back(nb::cast<std::string>(folder));
    return found;
  });
}

// The texts of one made by Python, which the library itself only points to.
struct NamedLibrary {
  NamedLibrary(std::string title, std::vector<std::string> names, std::string package_name)
      : title(std::move(title)),
        sonames(std::move(names)),
        package(std::move(package_name)),
        library(this->title.c_str(), pointers(sonames), package.empty() ? nullptr : package.c_str()) {}
  static std::vector<const char*> pointers(const std::vector<std::string>& texts) {
    std::vector<const char*> found;
    for (const std::string& text : texts) found.push_back(text.c_str());
    return found;
  }
  const std::string title;
  const std::vector<std::string> sonames;
  const std::string package;
  VendorLibrary library;
};

void init_cuda_libraries(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_cuda", "GPUs.");
  cuda::set_package_folders(folders_of_python);
  nb::class_<VendorLibrary>(m, "VendorLibrary", "A library of NVIDIA's, opened at its first use.")
      .def_prop_ro("title", &VendorLibrary::title)
      .def_prop_ro("package",
                   [](VendorLibrary& self) { return std::string(self.package() ? self.package() : ""); })
      .def_prop_ro("available", &VendorLibrary::available)
      .def_prop_ro("path", &VendorLibrary::path)
      .def_prop_ro("version", &VendorLibrary::version)
      .def_prop_ro("problem", &VendorLibrary::problem)
      .def(
          "symbol",
          [](VendorLibrary& self, const std::string& name) { return uintptr_t(self.symbol(name.c_str())); },
          "name"_a, "The address of a function.");
  m.def(
      "vendor_library",
      [](std::string title, std::vector<std::string> sonames, std::string package) -> VendorLibrary& {
        // It stays: a library that was opened is never closed.
        return (new NamedLibrary(std::move(title), std::move(sonames), std::move(package)))->library;
      },
      "title"_a, "sonames"_a, "package"_a = "", nb::rv_policy::reference,
      "One more library of NVIDIA's; without a package it comes with the driver.");
  m.def("vendor_libraries", &cuda::vendor_libraries, nb::rv_policy::reference,
        "Those that are used, opened or not.");
}

const BackendInit registered_libraries(init_cuda_libraries);

}  // namespace
}  // namespace mt::bindings
