#include "backends/cuda/compiler.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "backends/cuda/cuda_driver.h"
#include "backends/cuda/device_sources.h"
#include "backends/cuda/rehearsal.h"
#include "backends/cuda/vendor_library.h"
#include "base/error.h"

namespace mt::cuda {
namespace {

using NvrtcProgram = struct NvrtcProgramOf*;

#define MT_NVRTC_FUNCTIONS(X)                                                                           \
  X(version, "nvrtcVersion", int, (int* major, int* minor))                                             \
  X(error_text, "nvrtcGetErrorString", const char*, (int code))                                         \
  X(create, "nvrtcCreateProgram", int,                                                                  \
    (NvrtcProgram * program, const char* source, const char* name, int headers,                         \
     const char* const* header_texts, const char* const* header_names))                                 \
  X(destroy, "nvrtcDestroyProgram", int, (NvrtcProgram * program))                                      \
  X(compile, "nvrtcCompileProgram", int, (NvrtcProgram program, int options, const char* const* texts)) \
  X(code_size, "nvrtcGetCUBINSize", int, (NvrtcProgram program, size_t* bytes))                         \
  X(code, "nvrtcGetCUBIN", int, (NvrtcProgram program, char* code))                                     \
  X(log_size, "nvrtcGetProgramLogSize", int, (NvrtcProgram program, size_t* bytes))                     \
  X(log, "nvrtcGetProgramLog", int, (NvrtcProgram program, char* log))

struct NvrtcApi {
#define X(name, symbol, result, parameters) result(*name) parameters = nullptr;
  MT_NVRTC_FUNCTIONS(X)
#undef X
};

// NVRTC opens a second library by its name alone, which is found if it is open already.
void open_builtins(const NvrtcApi& api) {
  int major = 0, minor = 0;
  api.version(&major, &minor);
  const std::filesystem::path beside = std::filesystem::path(nvrtc_library().path()).parent_path();
  const std::string name = join_text("libnvrtc-builtins.so.", major, ".", minor);
  dlopen((beside / name).c_str(), RTLD_NOW | RTLD_LOCAL);
}

const NvrtcApi& nvrtc() {
  static const NvrtcApi* api = [] {
    auto* made = new NvrtcApi;
#define X(name, symbol_name, result, parameters) MT_LOOK_UP(*made, nvrtc_library(), name, symbol_name);
    MT_NVRTC_FUNCTIONS(X)
#undef X
    open_builtins(*made);
    return made;
  }();
  return *api;
}

void check_nvrtc(int code, const char* function) {
  MT_CHECK(code == 0, function, " failed: ", code, " (", nvrtc().error_text(code), ")");
}

// Of two FNV hashes over the same bytes with different beginnings: enough to tell programs apart.
class Digest {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      first_ = (first_ ^ uint8_t(c)) * 0x100000001b3;
      second_ = (second_ ^ uint8_t(c)) * 0x100000001b3 + (second_ >> 29);
    }
    add_length(text.size());
  }
  std::string text() const {
    char made[33];
    std::snprintf(made, sizeof made, "%016llx%016llx", static_cast<unsigned long long>(first_),
                  static_cast<unsigned long long>(second_));
    return made;
  }

 private:
  void add_length(size_t length) { first_ = (first_ ^ length) * 0x100000001b3; }
  uint64_t first_ = 0xcbf29ce484222325, second_ = 0x9ae16a3b2f90404f;
};

// "a": with the instructions that only this architecture has (warpgroup_products.h).
std::vector<std::string> options_for(const std::string& architecture) {
  return {"--gpu-architecture=" + architecture + (architecture == "sm_90" ? "a" : ""), "--std=c++20",
          "--device-as-default-execution-space", "-DMT_DEVICE_CODE=1",
          // Attributes and pragmas of GCC, comparisons that are always true, tables that only the host uses.
          "-diag-suppress=1097,161,186,20044"};
}

std::string name_of_code(const std::string& source, const std::string& architecture) {
  static const std::string fixed = [] {
    Digest digest;
    for (const DeviceSource& header : device_sources()) digest.add(header.name), digest.add(header.text);
    int major = 0, minor = 0;
    check_nvrtc(nvrtc().version(&major, &minor), "nvrtcVersion");
    digest.add(join_text(major, ".", minor));
    return digest.text();
  }();
  Digest digest;
  digest.add(fixed);
  for (const std::string& option : options_for(architecture)) digest.add(option);
  digest.add(source);
  return digest.text() + ".cubin";
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// Whole or not at all: another process may read it meanwhile. A cache that cannot be written only costs time.
void keep_file(const std::filesystem::path& path, const std::string& content) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  const std::filesystem::path beside = path.string() + "." + std::to_string(getpid());
  {
    std::ofstream file(beside, std::ios::binary);
    file.write(content.data(), std::streamsize(content.size()));
    if (!file.flush()) {
      file.close();
      std::filesystem::remove(beside, ignored);
      return;
    }
  }
  std::filesystem::rename(beside, path, ignored);
}

std::string architecture_of(int device) {
  return join_text("sm_", driver().attribute(device, kMajor), driver().attribute(device, kMinor));
}

}  // namespace

std::string cache_folder() {
  if (const char* named = std::getenv("MINDTORCH_CACHE")) return *named ? std::string(named) + "/cuda" : "";
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::string(cache) + "/mindtorch/cuda";
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.cache/mindtorch/cuda" : "";
}

std::string compile(const std::string& source, const std::string& architecture) {
  std::vector<const char*> names, texts;
  for (const DeviceSource& header : device_sources()) {
    names.push_back(header.name);
    texts.push_back(header.text);
  }
  NvrtcProgram program = nullptr;
  check_nvrtc(
      nvrtc().create(&program, source.c_str(), "kernel.cu", int(names.size()), texts.data(), names.data()),
      "nvrtcCreateProgram");
  const std::vector<std::string> options = options_for(architecture);
  std::vector<const char*> given;
  for (const std::string& option : options) given.push_back(option.c_str());
  const int code = nvrtc().compile(program, int(given.size()), given.data());
  if (code != 0) {
    size_t bytes = 0;
    nvrtc().log_size(program, &bytes);
    std::string log(bytes, '\0');
    nvrtc().log(program, log.data());
    nvrtc().destroy(&program);
    fail(ErrorKind::runtime, join_text("A kernel does not compile for ", architecture, " (",
                                       nvrtc().error_text(code), "). Its source is:\n", source, "\n", log));
  }
  size_t bytes = 0;
  check_nvrtc(nvrtc().code_size(program, &bytes), "nvrtcGetCUBINSize");
  std::string machine_code(bytes, '\0');
  check_nvrtc(nvrtc().code(program, machine_code.data()), "nvrtcGetCUBIN");
  nvrtc().destroy(&program);
  return machine_code;
}

namespace {

std::filesystem::path place_of(const std::string& source, const std::string& architecture) {
  const std::string folder = cache_folder();
  if (folder.empty()) return {};
  return std::filesystem::path(folder) / architecture / name_of_code(source, architecture);
}

// From the disk, or compiled and kept there.
std::string machine_code(const std::string& source, const std::string& architecture) {
  const std::filesystem::path path = place_of(source, architecture);
  std::string code = path.empty() ? "" : read_file(path);
  if (!code.empty()) return code;
  code = compile(source, architecture);
  if (!path.empty()) keep_file(path, code);
  return code;
}

}  // namespace

bool compile_ahead(const std::string& source, const std::string& architecture) {
  const std::filesystem::path path = place_of(source, architecture);
  MT_CHECK(!path.empty(), "there is no folder to keep machine code in: HOME and MINDTORCH_CACHE are empty");
  std::error_code error;
  if (std::filesystem::file_size(path, error) > 0 && !error) return false;
  machine_code(source, architecture);
  MT_CHECK(std::filesystem::exists(path, error), "machine code cannot be kept in ",
           path.parent_path().string(), ": is the folder writable? MINDTORCH_CACHE names another");
  return true;
}

Loaded load_program(int device, const std::string& source, const char* const* entries) {
  if (rehearsing()) {
    note_program(source);
    return {};
  }
  const std::string code = machine_code(source, architecture_of(device));
  const BesideCapture beside;
  Module module = nullptr;
  check(cuda().module_load(&module, code.data()), "cuModuleLoadData");
  Loaded loaded;
  for (int i = 0; i < kMaxEntries && entries[i]; ++i)
    check(cuda().module_function(&loaded.entries[size_t(i)], module, entries[i]), "cuModuleGetFunction");
  return loaded;
}

const Loaded& Variants::add(uint64_t key, int device, const char* const* entries, const std::string& source) {
  std::lock_guard guard(mutex_);
  const Node* before = first_.load(std::memory_order_acquire);
  for (const Node* node = before; node; node = node->next)
    if (node->key == key && node->device == device) return node->loaded;
  auto* made = new Node{key, device, load_program(device, source, entries), before};
  first_.store(made, std::memory_order_release);
  return made->loaded;
}

}  // namespace mt::cuda
