// _C._cuda: PyTorch's settings that NVIDIA's libraries are asked with, and whether their functions are all there.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "backends/cuda/cublas_lt.h"
#include "backends/cuda/cudnn.h"
#include "backends/cuda/cufft.h"
#include "backends/cuda/cupti_api.h"
#include "backends/cuda/cupti_tracer.h"
#include "backends/cuda/cusolver.h"
#include "backends/cuda/library_call.h"
#include "backends/cuda/nccl.h"
#include "backends/cuda/nvtx.h"
#include "bindings/backends.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace mt::bindings {
namespace {

std::atomic<bool>& setting(const std::string& name) {
  cuda::Settings& all = cuda::settings();
  if (name == "tf32_products") return all.tf32_products;
  if (name == "reduced_sums") return all.reduced_sums;
  if (name == "tf32_convolutions") return all.tf32_convolutions;
  if (name == "benchmark") return all.benchmark;
  if (name == "deterministic") return all.deterministic;
  fail(ErrorKind::value, "there is no setting '", name,
       "'; there are tf32_products, reduced_sums, tf32_convolutions, benchmark and deterministic");
}

void init_cuda_settings(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_cuda");
  m.def(
      "set_vendor_setting", [](const std::string& name, bool value) { setting(name) = value; }, "name"_a,
      "value"_a,
      "A setting of torch.backends.cuda.matmul or torch.backends.cudnn, under the name of its field.");
  m.def("vendor_setting", [](const std::string& name) { return setting(name).load(); }, "name"_a);
  m.def(
      "look_up_functions",
      [](const std::string& title) {
        if (title == "cuBLASLt") cuda::blas::api();
        else if (title == "cuBLAS") cuda::solver::blas_api();
        else if (title == "cuDNN") cuda::dnn::api();
        else if (title == "cuFFT") cuda::fft::api();
        else if (title == "cuSOLVER") cuda::solver::api();
        else if (title == "NCCL") cuda::nccl::api();
        else if (title == "CUPTI") cuda::cupti::api();
        else if (title == "NVTX") cuda::nvtx::api();
        else fail(ErrorKind::value, "there is no table of functions of ", title);
      },
      "title"_a,
      "Opens a library and looks all functions up that are used of it; raises for one that is missing.");
  m.def(
      "record_fields",
      [] {
        nb::list found;
        for (const auto& [structure, field, place, bytes] : cuda::cupti::field_places())
          found.append(nb::make_tuple(structure, field, place, bytes));
        return found;
      },
      "What is read of CUPTI's records: struct (without its number), field, place and bytes.");
}

const BackendInit registered_settings(init_cuda_settings);

}  // namespace
}  // namespace mt::bindings
