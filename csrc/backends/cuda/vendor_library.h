// NVIDIA's libraries, each found and opened at its first use: nothing of CUDA is needed to build or to import.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace mt::cuda {

// Note [Where NVIDIA's libraries are looked for]
// The driver's own library comes with the driver, so the loader's search path has it. All others are looked for, name by
// name, first among NVIDIA's packages in the folders of Python's sys.path (nvidia/cu13/lib, nvidia/cublas/lib, ...: what an
// environment has installed is what it means to use), then on the loader's search path, then in the toolkit
// ($CUDA_HOME, /usr/local/cuda). A library that the process has open already under that name is found first of all, so
// that another package's copy and ours are the same.
class VendorLibrary {
 public:
  // The number that the library tells as its version, as text; called once it is open.
  using Version = std::string (*)(VendorLibrary& library);

  // `sonames`: the best first. `package`: its name on PyPI; nullptr: it comes with the driver.
  VendorLibrary(const char* title, std::vector<const char*> sonames, const char* package,
                Version version = nullptr);
  VendorLibrary(const VendorLibrary&) = delete;

  // Whether it could be opened, now or before. It is looked for once.
  bool available() noexcept { return handle() != nullptr; }
  // The address of a function. Throws with what is missing, where it was looked for, and how to get it.
  void* symbol(const char* name);
  void* find_symbol(const char* name) noexcept;  // null where the library or the function is missing

  const char* title() const { return title_; }
  const char* package() const { return package_; }
  std::string path();     // of the file that was opened; empty: it could not be
  std::string version();  // empty: not known
  std::string problem();  // why it could not be opened, and how to get it; empty where it was

 private:
  void* handle() noexcept {
    if (searched_.load(std::memory_order_acquire)) [[likely]]
      return handle_;
    return search();
  }
  void* search() noexcept;
  void open(const std::vector<std::string>& packages);

  const char* const title_;
  const std::vector<const char*> sonames_;
  const char* const package_;
  const Version version_;

  std::atomic<bool> searched_{false};
  std::mutex mutex_;
  void* handle_ = nullptr;  // lives as long as the process
  std::string path_, problem_;
};

// The folders in which packages may lie (Python's sys.path), asked for when a library is looked for.
void set_package_folders(std::function<std::vector<std::string>()> folders);

VendorLibrary& driver_library();
VendorLibrary& nvrtc_library();
VendorLibrary& cublas_lt_library();
VendorLibrary& cublas_library();
VendorLibrary& cudnn_library();
VendorLibrary& cufft_library();
VendorLibrary& cusolver_library();
VendorLibrary& nccl_library();
VendorLibrary& cupti_library();
VendorLibrary& nvtx_library();
// All of these, for `mindtorch info`.
std::vector<VendorLibrary*> vendor_libraries();

// A table of functions is a struct with a member per X(member, "name in the library", (parameters)) of its list; this is
// the X that fills it.
#define MT_LOOK_UP(table, library, member, symbol_name) \
  (table).member = reinterpret_cast<decltype((table).member)>((library).symbol(symbol_name))

}  // namespace mt::cuda
