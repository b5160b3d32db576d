// _C._cuda: ranges of NVIDIA's tools, from a program (torch.cuda.nvtx) or around every operator (emit_nvtx).
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "autograd/engine.h"
#include "backends/cuda/nvtx.h"
#include "base/error.h"
#include "bindings/backends.h"
#include "core/observe_task.h"
#include "profiler/recorder.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace mt::bindings {
namespace {

using Kind = ObservedArgument::Kind;

void add_sizes(std::string& text, const Tensor& tensor) {
  text += '[';
  if (tensor.defined())
    for (int64_t d = 0; d < tensor.dim(); ++d) text += (d ? ", " : "") + std::to_string(tensor.sizes()[d]);
  text += ']';
}

std::string sizes_of(ObservedArguments arguments) {
  std::string text = "[";
  for (const ObservedArgument& argument : arguments) {
    if (text.size() > 1) text += ", ";
    const auto* tensors = static_cast<const Tensor*>(argument.pointer);
    if (argument.kind == Kind::tensor) add_sizes(text, *tensors);
    else if (argument.kind == Kind::tensors)
      for (size_t i = 0; i < argument.size; ++i) {
        if (i) text += ", ";
        add_sizes(text, tensors[i]);
      }
    else text += "[]";
  }
  return text + "]";
}

// A range around every operator and every node of the backward pass. As in PyTorch, an operator says the number that the
// next node gets, so that a reader finds the node that it makes.
class RangeObserver final : public Observer {
 public:
  void begin(const OpInfo& op, ObservedArguments arguments) override {
    std::string text = op.name;
    if (gradients_enabled()) text += ", seq = " + std::to_string(autograd::next_sequence());
    push(std::move(text), arguments);
  }
  void end() override { cuda::nvtx::api().pop(); }
  void node_made(uint64_t) override {}
  void begin_visit(std::string_view node, std::optional<uint64_t> sequence) override {
    push(numbered("autograd::engine::evaluate_function: " + std::string(node), sequence), {});
  }
  void begin_run(std::string_view node, std::optional<uint64_t> sequence, TensorList gradients) override {
    const std::vector<ObservedArgument> shown(gradients.begin(), gradients.end());
    push(numbered(std::string(node), sequence), shown);
  }
  void host_memory_changed(const void*, int64_t) override {}
  bool begin_task(const TaskInfo&) override { return false; }
  void end_task() override {}

  std::atomic<bool> sizes{false};

 private:
  static bool gradients_enabled() { return thread_state().grad_enabled; }
  static std::string numbered(std::string text, std::optional<uint64_t> sequence) {
    return sequence ? text + ", seq = " + std::to_string(*sequence) : text;
  }
  void push(std::string text, ObservedArguments arguments) const {
    if (sizes.load(std::memory_order_relaxed) && !arguments.empty())
      text += ", sizes = " + sizes_of(arguments);
    cuda::nvtx::api().push(text.c_str());
  }
};

RangeObserver& ranges() {
  static auto* made = new RangeObserver;  // never destroyed: operators in flight end on it
  return *made;
}

void begin_ranges(bool sizes) {
  cuda::nvtx::api();  // throws here rather than in the first operator
  MT_CHECK(!profiler::Recorder::get().recording(),
           "emit_nvtx: torch.profiler is recording, and one of the two can watch at a time. Leave the "
           "profile first.");
  ranges().sizes = sizes;
  set_observer(&ranges());
}

void end_ranges() {
  // A profile that was started meanwhile watches now.
  if (observer() == &ranges()) set_observer(nullptr);
}

void init_cuda_nvtx(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_cuda");
  m.def("range_push", [](const char* message) { return cuda::nvtx::api().push(message); }, "message"_a);
  m.def("range_pop", [] { return cuda::nvtx::api().pop(); });
  m.def("range_start", [](const char* message) { return cuda::nvtx::api().start(message); }, "message"_a);
  m.def("range_end", [](uint64_t range) { cuda::nvtx::api().end(range); }, "range"_a);
  m.def("mark", [](const char* message) { cuda::nvtx::api().mark(message); }, "message"_a);
  m.def("begin_ranges", &begin_ranges, "sizes"_a, "From now on every operator is a range.");
  m.def("end_ranges", &end_ranges);
}

const BackendInit registered_nvtx(init_cuda_nvtx);

}  // namespace
}  // namespace mt::bindings
