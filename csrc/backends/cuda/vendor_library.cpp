#include "backends/cuda/vendor_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "backends/cuda/rehearsal.h"
#include "base/error.h"

namespace mt::cuda {
namespace {

namespace fs = std::filesystem;

std::mutex g_folders_mutex;
std::function<std::vector<std::string>()>& package_folders() {
  static auto* made = new std::function<std::vector<std::string>()>;
  return *made;
}

// The folders with libraries that NVIDIA's packages made in one folder of sys.path; the newest layout first: all parts
// of a major version share nvidia/cu<major>/lib, other packages have nvidia/<part>/lib.
void add_folders_of_packages(const std::string& folder, std::vector<std::string>& found) {
  std::error_code error;
  std::vector<std::string> shared, single;
  for (fs::directory_iterator entry(fs::path(folder.empty() ? "." : folder) / "nvidia", error), end;
       !error && entry != end; entry.increment(error)) {
    const fs::path libraries = entry->path() / "lib";
    std::error_code unreadable;
    if (!fs::is_directory(libraries, unreadable)) continue;
    const std::string name = entry->path().filename();
    const bool is_version = name.size() > 2 && name.compare(0, 2, "cu") == 0 &&
                            name.find_first_not_of("0123456789", 2) == name.npos;
    (is_version ? shared : single).push_back(libraries);
  }
  std::sort(shared.rbegin(), shared.rend());
  std::sort(single.begin(), single.end());
  found.insert(found.end(), shared.begin(), shared.end());
  found.insert(found.end(), single.begin(), single.end());
}

std::vector<std::string> folders_of_packages() {
  std::function<std::vector<std::string>()> ask;
  {
    const std::lock_guard guard(g_folders_mutex);
    ask = package_folders();
  }
  std::vector<std::string> found;
  if (ask)
    for (const std::string& folder : ask()) add_folders_of_packages(folder, found);
  return found;
}

std::vector<std::string> folders_of_toolkit() {
  std::vector<std::string> found;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* folder = std::getenv(variable); folder && *folder)
      for (const char* part : {"/lib64", "/lib", "/extras/CUPTI/lib64"})
        found.push_back(std::string(folder) + part);
  for (const char* folder : {"/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64"})
    found.push_back(folder);
  return found;
}

std::string path_of(void* handle, const std::string& asked) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name ? map->l_name
                                                                                          : asked;
}

std::string dotted(int64_t major, int64_t minor, int64_t patch = -1) {
  return patch < 0 ? join_text(major, ".", minor) : join_text(major, ".", minor, ".", patch);
}

// How libraries pack a version into a number.
std::string by_hundreds(int64_t v) { return dotted(v / 10000, v / 100 % 100, v % 100); }
std::string by_thousands(int64_t v) { return dotted(v / 1000, v / 100 % 10, v % 100); }

// A function that writes its number, `int f(int*)`; -1 where it is missing or refuses.
int64_t written_number(VendorLibrary& library, const char* function) {
  const auto ask = reinterpret_cast<int (*)(int*)>(library.find_symbol(function));
  int number = -1;
  return ask && ask(&number) == 0 ? number : -1;
}

// One that returns it, `size_t f()`.
int64_t returned_number(VendorLibrary& library, const char* function) {
  const auto ask = reinterpret_cast<size_t (*)()>(library.find_symbol(function));
  return ask ? int64_t(ask()) : -1;
}

template <std::string (*pack)(int64_t)>
std::string packed(int64_t number) {
  return number < 0 ? std::string() : pack(number);
}

std::string nvrtc_version(VendorLibrary& library) {
  const auto ask = reinterpret_cast<int (*)(int*, int*)>(library.find_symbol("nvrtcVersion"));
  int major = 0, minor = 0;
  return ask && ask(&major, &minor) == 0 ? dotted(major, minor) : std::string();
}

}  // namespace

VendorLibrary::VendorLibrary(const char* title, std::vector<const char*> sonames, const char* package,
                             Version version)
    : title_(title), sonames_(std::move(sonames)), package_(package), version_(version) {}

void* VendorLibrary::search() noexcept {
  std::vector<std::string> packages;
  std::string unreadable;
  try {
    // Before the lock is taken: it asks Python, whose lock another thread may hold that waits here.
    if (package_) packages = folders_of_packages();
  } catch (const std::exception& error) { unreadable = error.what(); }
  const std::lock_guard guard(mutex_);
  if (searched_.load(std::memory_order_relaxed)) return handle_;
  open(packages);
  if (!handle_ && !unreadable.empty()) problem_ += " (sys.path could not be read: " + unreadable + ")";
  searched_.store(true, std::memory_order_release);
  return handle_;
}

void VendorLibrary::open(const std::vector<std::string>& packages) {
  std::string broken;  // what the loader says of a file that is there
  const auto try_file = [&](const std::string& file, int more_flags) {
    void* opened = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL | more_flags);
    if (!opened) return false;
    handle_ = opened;
    path_ = path_of(opened, file);
    return true;
  };
  const auto try_folders = [&](const std::vector<std::string>& folders, const char* soname) {
    for (const std::string& folder : folders) {
      const std::string file = folder + "/" + soname;
      std::error_code error;
      if (!fs::exists(file, error)) continue;
      if (try_file(file, 0)) return true;
      if (broken.empty()) {
        const char* said = dlerror();
        broken = said ? said : "cannot open " + file;
      }
    }
    return false;
  };
  for (const char* soname : sonames_)
    if (try_file(soname, RTLD_NOLOAD)) return;
  const std::vector<std::string> toolkit = package_ ? folders_of_toolkit() : std::vector<std::string>();
  for (const char* soname : sonames_)
    if (try_folders(packages, soname) || try_file(soname, 0) || try_folders(toolkit, soname)) return;

  std::string names;
  for (const char* soname : sonames_) names += (names.empty() ? "" : " or ") + std::string(soname);
  if (!broken.empty()) problem_ = join_text(title_, " is there but cannot be opened: ", broken);
  else if (package_)
    problem_ =
        join_text(title_, " was not found: ", names,
                  " is neither in a package of NVIDIA's on sys.path, nor on the loader's search path, nor "
                  "in /usr/local/cuda");
  else problem_ = join_text(title_, " was not found: ", names, " is not on the loader's search path");
  problem_ += package_ ? join_text(". Install it: pip install ", package_)
                       : std::string(
                             ". It comes with NVIDIA's driver: check that nvidia-smi runs here, and in a "
                             "container that it was started with its GPUs");
}

void* VendorLibrary::find_symbol(const char* name) noexcept {
  void* library = handle();
  return library ? dlsym(library, name) : nullptr;
}

void* VendorLibrary::symbol(const char* name) {
  if (rehearsing() && this != &nvrtc_library())
    fail(ErrorKind::runtime, title_, " is not called in a rehearsal.");
  if (!available()) fail(ErrorKind::runtime, problem_, ".");
  void* found = dlsym(handle_, name);
  if (!found)
    fail(ErrorKind::runtime, title_, " in ", path_, " lacks ", name, ": it is too old. ",
         package_ ? join_text("Install a newer one: pip install --upgrade ", package_)
                  : std::string("Install a newer driver"),
         ".");
  return found;
}

std::string VendorLibrary::path() {
  handle();
  return path_;
}

std::string VendorLibrary::version() { return available() && version_ ? version_(*this) : std::string(); }

std::string VendorLibrary::problem() {
  handle();
  return problem_;
}

void set_package_folders(std::function<std::vector<std::string>()> folders) {
  const std::lock_guard guard(g_folders_mutex);
  package_folders() = std::move(folders);
}

// Objects are never destroyed: what they opened is used until the process is gone.
#define MT_VENDOR_LIBRARY(function, ...)                \
  VendorLibrary& function() {                           \
    static auto* made = new VendorLibrary(__VA_ARGS__); \
    return *made;                                       \
  }
using Names = std::vector<const char*>;
MT_VENDOR_LIBRARY(driver_library, "the CUDA driver", Names{"libcuda.so.1", "libcuda.so"}, nullptr,
                  [](VendorLibrary& library) {
                    const int64_t number = written_number(library, "cuDriverGetVersion");
                    return number < 0 ? std::string() : dotted(number / 1000, number % 1000 / 10);
                  })
MT_VENDOR_LIBRARY(nvrtc_library, "NVRTC", Names{"libnvrtc.so.13", "libnvrtc.so.12"}, "nvidia-cuda-nvrtc",
                  nvrtc_version)
MT_VENDOR_LIBRARY(cublas_lt_library, "cuBLASLt", Names{"libcublasLt.so.13", "libcublasLt.so.12"},
                  "nvidia-cublas", [](VendorLibrary& library) {
                    return packed<by_hundreds>(returned_number(library, "cublasLtGetVersion"));
                  })
MT_VENDOR_LIBRARY(cublas_library, "cuBLAS", Names{"libcublas.so.13", "libcublas.so.12"}, "nvidia-cublas")
MT_VENDOR_LIBRARY(cudnn_library, "cuDNN", Names{"libcudnn.so.9"}, "nvidia-cudnn-cu13",
                  [](VendorLibrary& library) {
                    return packed<by_hundreds>(returned_number(library, "cudnnGetVersion"));
                  })
MT_VENDOR_LIBRARY(cufft_library, "cuFFT", Names{"libcufft.so.12", "libcufft.so.11"}, "nvidia-cufft",
                  [](VendorLibrary& library) {
                    return packed<by_thousands>(written_number(library, "cufftGetVersion"));
                  })
MT_VENDOR_LIBRARY(cusolver_library, "cuSOLVER", Names{"libcusolver.so.12", "libcusolver.so.11"},
                  "nvidia-cusolver", [](VendorLibrary& library) {
                    return packed<by_thousands>(written_number(library, "cusolverGetVersion"));
                  })
MT_VENDOR_LIBRARY(nccl_library, "NCCL", Names{"libnccl.so.2"}, "nvidia-nccl-cu13",
                  [](VendorLibrary& library) {
                    return packed<by_hundreds>(written_number(library, "ncclGetVersion"));
                  })
MT_VENDOR_LIBRARY(cupti_library, "CUPTI", Names{"libcupti.so.13", "libcupti.so.12"}, "nvidia-cuda-cupti",
                  [](VendorLibrary& library) {
                    return packed<by_hundreds>(written_number(library, "cuptiGetVersion"));
                  })
MT_VENDOR_LIBRARY(nvtx_library, "NVTX", Names{"libnvtx3interop.so.1", "libnvToolsExt.so.1"}, "nvidia-nvtx")
#undef MT_VENDOR_LIBRARY

std::vector<VendorLibrary*> vendor_libraries() {
  return {&driver_library(), &nvrtc_library(),    &cublas_lt_library(), &cublas_library(), &cudnn_library(),
          &cufft_library(),  &cusolver_library(), &nccl_library(),      &cupti_library(),  &nvtx_library()};
}

}  // namespace mt::cuda
