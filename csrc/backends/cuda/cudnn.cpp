#include "backends/cuda/cudnn.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/cuda/launch_queue.h"
#include "backends/cuda/plan_cache.h"
#include "backends/cuda/vendor_library.h"
#include "base/error.h"
#include "base/per_thread.h"

namespace mt::cuda {
namespace dnn {

const Api& api() {
  static const Api* filled = [] {
    auto* made = new Api;
    // cuDNN asks the loader for these by name when an engine needs them; then the ones that are open are taken.
    nvrtc_library().available();
    cublas_lt_library().available();
    VendorLibrary& library = cudnn_library();
#define X(name, symbol_name, parameters) MT_LOOK_UP(*made, library, name, symbol_name);
    MT_CUDNN_FUNCTIONS(X)
#undef X
    MT_LOOK_UP(*made, library, error_text, "cudnnGetErrorString");
    MT_LOOK_UP(*made, library, last_error, "cudnnGetLastErrorString");
    return made;
  }();
  return *filled;
}

}  // namespace dnn

namespace {

using dnn::api;

constexpr int64_t kXId = 'x', kWId = 'w', kYId = 'y';

[[noreturn, gnu::cold]] void fail_dnn(dnn::Status code, const char* function) {
  char last[1024] = {};
  api().last_error(last, sizeof last - 1);
  throw DeviceError(code, join_text("cuDNN error: ", api().error_text(code), " (", function, " gave ", code,
                                    ")", *last ? join_text(": ", last) : std::string()));
}

void check(dnn::Status code, const char* function) {
  if (code != 0) [[unlikely]]
    fail_dnn(code, function);
}

class Described {
 public:
  explicit Described(dnn::Kind kind) {
    check(api().make(kind, &descriptor_), "cudnnBackendCreateDescriptor");
  }
  Described(Described&& other) noexcept : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  Described& operator=(Described&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Described() {
    if (descriptor_) api().destroy(descriptor_);
  }

  dnn::Descriptor get() const { return descriptor_; }
  dnn::Descriptor release() { return std::exchange(descriptor_, nullptr); }
  template <class T>
  void set(int attribute, dnn::ValueType type, const T& value) {
    set(attribute, type, 1, &value);
  }
  void set(int attribute, dnn::ValueType type, int64_t count, const void* values) {
    check(api().set(descriptor_, attribute, type, count, values), "cudnnBackendSetAttribute");
  }
  void set(int attribute, const Described& value) {
    set(attribute, dnn::kDescriptorValue, value.descriptor_);
  }
  void finalize() { check(api().finalize(descriptor_), "cudnnBackendFinalize"); }

 private:
  dnn::Descriptor descriptor_ = nullptr;
};

// Handles carry the stream, so a thread has its own; they live for ever.
dnn::Status find_handle(int device, void* stream, dnn::Handle& handle) {
  struct Own {
    dnn::Handle handle = nullptr;
    void* stream = nullptr;
    bool stream_is_set = false;
  };
  static PerThread<std::array<Own, kMaxDevices>> own;
  Own& mine = own->at(size_t(device));
  if (!mine.handle)
    if (const dnn::Status code = api().create(&mine.handle); code != 0) return code;
  if (!mine.stream_is_set || mine.stream != stream) {
    if (const dnn::Status code = api().set_stream(mine.handle, stream); code != 0) return code;
    mine.stream = stream;
    mine.stream_is_set = true;
  }
  handle = mine.handle;
  return 0;
}

dnn::Handle handle_of(const Place& place) {
  dnn::Handle handle = nullptr;
  check(find_handle(place.index(), place.stream, handle), "cudnnCreate");
  return handle;
}

Described tensor_of(const ConvolutionShape& shape, int64_t id, const std::array<int64_t, 5>& sizes,
                    const std::array<int64_t, 5>& strides) {
  Described made(dnn::kTensor);
  made.set(dnn::kTensorNumber, dnn::kNumberValue, shape.number);
  made.set(dnn::kTensorSizes, dnn::kInt64Value, shape.dims, sizes.data());
  made.set(dnn::kTensorStrides, dnn::kInt64Value, shape.dims, strides.data());
  made.set(dnn::kTensorId, dnn::kInt64Value, id);
  made.set(dnn::kTensorAlignment, dnn::kInt64Value, int64_t(shape.alignment));
  made.finalize();
  return made;
}

Described graph_of(const ConvolutionShape& shape, dnn::Handle handle) {
  const Described x = tensor_of(shape, kXId, shape.x_sizes, shape.x_strides);
  const Described w = tensor_of(shape, kWId, shape.w_sizes, shape.w_strides);
  const Described y = tensor_of(shape, kYId, shape.y_sizes, shape.y_strides);
  const bool doubles = shape.number == dnn::kFloat64;
  const int64_t spatial = shape.dims - 2;

  Described convolution(dnn::kConvolution);
  convolution.set(dnn::kConvolutionCompute, dnn::kNumberValue, int(doubles ? dnn::kFloat64 : dnn::kFloat32));
  convolution.set(dnn::kConvolutionMode, dnn::kModeValue, dnn::kCrossCorrelation);
  convolution.set(dnn::kConvolutionSpatial, dnn::kInt64Value, spatial);
  convolution.set(dnn::kConvolutionDilations, dnn::kInt64Value, spatial, shape.dilation.data());
  convolution.set(dnn::kConvolutionStrides, dnn::kInt64Value, spatial, shape.stride.data());
  convolution.set(dnn::kConvolutionPaddingBefore, dnn::kInt64Value, spatial, shape.padding.data());
  convolution.set(dnn::kConvolutionPaddingAfter, dnn::kInt64Value, spatial, shape.padding.data());
  convolution.finalize();

  const auto [kind, first] =
      shape.kind == ConvolutionKind::forward ? std::pair(dnn::kForward, dnn::kForwardAlpha)
      : shape.kind == ConvolutionKind::data  ? std::pair(dnn::kBackwardData, dnn::kDataAlpha)
                                             : std::pair(dnn::kBackwardFilter, dnn::kFilterAlpha);
  Described operation(kind);
  if (doubles) {
    operation.set(first, dnn::kDoubleValue, 1.0);
    operation.set(first + 1, dnn::kDoubleValue, 0.0);
  } else {
    operation.set(first, dnn::kFloatValue, 1.0f);
    operation.set(first + 1, dnn::kFloatValue, 0.0f);
  }
  operation.set(first + 2, convolution);
  operation.set(first + 3, w);
  operation.set(first + 4, x);
  operation.set(first + 5, y);
  operation.finalize();

  Described graph(dnn::kGraph);
  graph.set(dnn::kGraphHandle, dnn::kHandleValue, handle);
  graph.set(dnn::kGraphOperations, operation);
  graph.finalize();
  return graph;
}

// Engines that cuDNN proposes, the best first; none where this way of asking has no answer.
std::vector<Described> proposals(const Described& graph, dnn::HeuristicKind mode) {
  constexpr int64_t kMost = 16;
  std::vector<Described> found;
  Described heuristic(dnn::kHeuristic);
  heuristic.set(dnn::kHeuristicGraph, graph);
  heuristic.set(dnn::kHeuristicMode, dnn::kHeuristicValue, int(mode));
  if (api().finalize(heuristic.get()) != 0) return found;
  std::array<dnn::Descriptor, kMost> slots;
  for (int64_t i = 0; i < kMost; ++i) {
    found.emplace_back(dnn::kEngineConfig);
    slots[size_t(i)] = found.back().get();
  }
  int64_t count = 0;
  if (api().get(heuristic.get(), dnn::kHeuristicResults, dnn::kDescriptorValue, kMost, &count,
                slots.data()) != 0)
    count = 0;
  found.erase(found.begin() + std::min(count, kMost), found.end());
  return found;
}

// Whether what the engine does is what the settings of PyTorch allow.
bool is_allowed(const ConvolutionShape& shape, const Described& config) {
  const bool exact = shape.number == dnn::kFloat32 && !shape.tf32;
  if (!exact && !shape.deterministic) return true;
  Described engine(dnn::kEngine);
  dnn::Descriptor slot = engine.get();
  int64_t count = 0;
  check(api().get(config.get(), dnn::kConfigEngine, dnn::kDescriptorValue, 1, &count, &slot),
        "cudnnBackendGetAttribute");
  std::array<int, dnn::kNotes> notes{};
  check(api().get(engine.get(), dnn::kEngineNotes, dnn::kNoteValue, dnn::kNotes, &count, notes.data()),
        "cudnnBackendGetAttribute");
  for (int64_t i = 0; i < std::min<int64_t>(count, dnn::kNotes); ++i) {
    const int note = notes[size_t(i)];
    if (exact && (note == dnn::kTensorCores || note == dnn::kDownConverts)) return false;
    if (shape.deterministic && note == dnn::kNotDeterministic) return false;
  }
  return true;
}

struct Plan {
  Described plan;
  int64_t workspace;
};

// Note [Plans of convolutions]
// The first proposal that can be built is taken. One that wants very much memory is taken only if no other is there.
// With `benchmark`, cuDNN's slower and better heuristic is asked first.
Plan make_plan(const Place& place, const ConvolutionShape& shape) {
  constexpr int64_t kMuch = int64_t(1) << 30;
  dnn::Handle handle = handle_of(place);
  const Described graph = graph_of(shape, handle);
  std::vector<Plan> large;
  const std::array<dnn::HeuristicKind, 3> asked = {dnn::kByNetwork, dnn::kByTree, dnn::kFallback};
  for (size_t i = shape.benchmark ? 0 : 1; i < asked.size(); ++i)
    for (const Described& config : proposals(graph, asked[i])) {
      if (!is_allowed(shape, config)) continue;
      Described plan(dnn::kPlan);
      plan.set(dnn::kPlanHandle, dnn::kHandleValue, handle);
      plan.set(dnn::kPlanConfig, config);
      if (api().finalize(plan.get()) != 0) continue;  // the engine does not take this after all
      int64_t workspace = 0, count = 0;
      check(api().get(plan.get(), dnn::kPlanWorkspace, dnn::kInt64Value, 1, &count, &workspace),
            "cudnnBackendGetAttribute");
      Plan made{std::move(plan), workspace};
      if (workspace <= kMuch) return made;
      if (large.empty()) large.push_back(std::move(made));
    }
  if (!large.empty()) return std::move(large.front());
  char last[1024] = {};
  api().last_error(last, sizeof last - 1);
  fail(ErrorKind::runtime, "cuDNN has no engine for this convolution",
       shape.deterministic ? " with deterministic results" : "", *last ? ": " : "", last,
       ". Look for sizes, strides or groups beyond its limits, or another dtype.");
}

// Of this thread. Who executes it has another handle for the same device.
const Plan& plan_for(const Place& place, const ConvolutionShape& shape) {
  static PerThread<PlanCache<ConvolutionShape, Plan, 1024>> kept;
  return kept->find(shape, [&] { return make_plan(place, shape); });
}

struct Execution {
  dnn::Descriptor plan, pointers;  // the latter is its own
  int device;
  void* stream;

  Outcome operator()(const void*) const {
    dnn::Handle handle = nullptr;
    dnn::Status code = find_handle(device, stream, handle);
    if (code == 0) code = api().execute(handle, plan, pointers);
    api().destroy(pointers);
    return {code, "cudnnBackendExecute", fail_dnn};
  }
};

}  // namespace

void convolve(const Place& place, const ConvolutionShape& shape, void* x, void* w, void* y,
              const char* name) {
  const Plan& plan = plan_for(place, shape);
  const Scratch workspace(place, size_t(plan.workspace));
  // A descriptor of pointers cannot be changed once it is final.
  Described pointers(dnn::kPointers);
  const int64_t ids[] = {kXId, kWId, kYId};
  void* const addresses[] = {x, w, y};
  void* const work = workspace.address();
  pointers.set(dnn::kPointerIds, dnn::kInt64Value, 3, ids);
  pointers.set(dnn::kPointerAddresses, dnn::kPointerValue, 3, addresses);
  pointers.set(dnn::kPointerWorkspace, dnn::kPointerValue, 1, &work);
  pointers.finalize();
  enqueue_soon(place, "cudnnBackendExecute", name,
               Execution{plan.plan.get(), pointers.release(), place.index(), place.stream});
}

}  // namespace mt::cuda
