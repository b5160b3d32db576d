// Steps over lists of tensors: as many tensors as a launch holds at a time, and no number comes to the host. Counts of
// steps may lie there already.
#include "generated/cuda/optimizer.h"

#include <functional>

#include "backends/cuda/dense.h"
#include "backends/cuda/program.h"
#include "core/views.h"
#include "kernels/common/types.h"

namespace mt::cuda {
namespace {

using Lists = std::initializer_list<TensorList>;

bool lie_alike(const Tensor& a, const Tensor& b) {
  return std::ranges::equal(a.sizes(), b.sizes()) && std::ranges::equal(a.strides(), b.strides());
}

// Tensors of several lists that belong together, gathered until a launch is full. Those that do not lie alike and dense
// are copied, and copied back after the launch.
class Gathered {
 public:
  explicit Gathered(const char* name) : name_(name) {}

  ListCall lists{};
  std::array<const void*, kMaxListed> steps{};
  std::array<float, kMaxListed> counted{};
  DType own = DType::float32, gradient = DType::float32;

  bool full() const { return lists.number == kMaxListed; }
  bool empty() const { return lists.number == 0; }
  bool takes(DType parameters, DType gradients) const {
    return empty() || (!full() && own == parameters && gradient == gradients);
  }

  void add(Lists from, size_t i, const Tensor* step) {
    const Tensor& first = (*from.begin())[i];
    bool alike = views::is_dense(first);
    size_t list = 0;
    for (const TensorList& each : from) {
      MT_CHECK(each.size() > i && each[i].numel() == first.numel(), name_, ": list ", list,
               " has no tensor of ", first.numel(), " elements for parameter ", i);
      MT_CHECK(list == 1 || each[i].dtype() == first.dtype(), name_, ": a parameter of dtype ",
               info(first.dtype()).name, " has a state of dtype ", info(each[i].dtype()).name,
               "; they must be the same");
      alike &= lie_alike(each[i], first);
      ++list;
    }
    own = first.dtype();
    gradient = from.size() > 1 ? (from.begin() + 1)->operator[](i).dtype() : own;
    const auto at = size_t(lists.number);
    list = 0;
    for (const TensorList& each : from) {
      Tensor used = each[i];
      if (!alike && !used.is_contiguous()) {
        used = dense(used);
        copies_.push_back({used, each[i]});
      }
      lists.data[at][list++] = memory(used);
    }
    steps[at] = nullptr;
    if (step && step->device().type == DeviceType::cpu) {
      counted[at] = float(item(*step).to<double>());
    } else if (step) {
      MT_CHECK(step->device() == first.device(), name_, ": the step of a parameter on ",
               to_string(first.device()), " must be there or on the host; it is on ",
               to_string(step->device()));
      const Tensor count = dense(*step, DType::float32);
      steps[at] = memory(count);
      kept_.push_back(count);
    }
    lists.counts[at] = first.numel();
    lists.chunks[at + 1] = lists.chunks[at] + int((first.numel() + kListChunk - 1) / kListChunk);
    ++lists.number;
  }

  unsigned blocks() const { return unsigned(lists.chunks[lists.number]); }

  void launched() {
    for (const auto& [made, wanted] : copies_) gpu().copy_on_device(made, wanted);
    copies_.clear();
    kept_.clear();
    lists = {};
  }

 private:
  const char* name_;
  std::vector<std::pair<Tensor, Tensor>> copies_;
  std::vector<Tensor> kept_;
};

// Calls start(gathered) for every launch. steps: of each tensor, or none.
template <class F>
void over_lists(const char* name, Lists from, TensorList steps, const F& start) {
  Gathered gathered(name);
  const auto flush = [&] {
    if (gathered.empty()) return;
    start(gathered);
    gathered.launched();
  };
  const TensorList& own = *from.begin();
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i].numel() == 0) continue;
    check_dtype(kernels::domains::floating, own[i].dtype(), name);
    const DType gradient = from.size() > 1 ? (from.begin() + 1)->operator[](i).dtype() : own[i].dtype();
    check_dtype(kernels::domains::floating, gradient, name);
    if (!gathered.takes(own[i].dtype(), gradient)) flush();
    gathered.add(from, i, steps.empty() ? nullptr : &steps[i]);
  }
  flush();
}

// A number of a step that lies on the device, as float.
struct FloatAt {
  Tensor tensor;
  explicit FloatAt(const Tensor& t) : tensor(dense(t, DType::float32)) {}
  float* get() const { return static_cast<float*>(memory(tensor)); }
};

// One kind of step: `text` gives the kernel for the dtypes of parameters and gradients.
template <class Text>
void take_steps(const char* name, Variants& variants, int form, Lists from, TensorList steps, StepCall call,
                const Tensor& grad_scale, const Tensor& found_inf, const Text& text) {
  const FloatAt scale(grad_scale), found(found_inf);
  call.scale = scale.get();
  call.found_inf = found.get();
  over_lists(name, from, steps, [&](Gathered& gathered) {
    const Place place((*from.begin())[0]);
    const Loaded& program = find_program(
        variants, key_of({form, int(gathered.own), int(gathered.gradient)}), place, "optimizer.h", 1,
        [&]() -> std::vector<FamilyKernel> {
          return {{text(join_text(type_text(gathered.own), ", ", type_text(gathered.gradient))), "StepCall"}};
        });
    call.lists = gathered.lists;
    std::ranges::copy(gathered.steps, call.steps);
    std::ranges::copy(gathered.counted, call.counted);
    launch_with(program.entries[0], name, place.index(), {gathered.blocks()}, {256}, 0, call);
  });
}

struct AdamSettings {
  double lr, beta1, beta2, weight_decay, eps;
  bool amsgrad, maximize;
};

void adam(const char* name, Variants& variants, bool decoupled, TensorList self, TensorList grads,
          TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs, TensorList state_steps,
          const AdamSettings& settings, const Tensor& grad_scale, const Tensor& found_inf) {
  StepCall call{};
  call.rate = settings.lr;
  call.beta1 = settings.beta1;
  call.beta2 = settings.beta2;
  call.weight_decay = settings.weight_decay;
  call.eps = settings.eps;
  call.maximize = settings.maximize;
  const auto text = [&](const std::string& types) {
    return join_text("adam_stepped<", types, settings.amsgrad ? ", true, " : ", false, ",
                     decoupled ? "true>" : "false>");
  };
  if (settings.amsgrad)
    take_steps(name, variants, 1, {self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs}, state_steps, call,
               grad_scale, found_inf, text);
  else
    take_steps(name, variants, 0, {self, grads, exp_avgs, exp_avg_sqs}, state_steps, call, grad_scale,
               found_inf, text);
}

}  // namespace

void fused_adam(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,
                double weight_decay, double eps, bool amsgrad, bool maximize, const Tensor& grad_scale,
                const Tensor& found_inf) {
  static Variants variants;
  adam("fused_adam", variants, false, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
       {lr, beta1, beta2, weight_decay, eps, amsgrad, maximize}, grad_scale, found_inf);
}

void fused_adamw(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                 TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,
                 double weight_decay, double eps, bool amsgrad, bool maximize, const Tensor& grad_scale,
                 const Tensor& found_inf) {
  static Variants variants;
  adam("fused_adamw", variants, true, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
       {lr, beta1, beta2, weight_decay, eps, amsgrad, maximize}, grad_scale, found_inf);
}

void fused_sgd(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay,
               double momentum, double lr, double dampening, bool nesterov, bool maximize, bool is_first_step,
               const Tensor& grad_scale, const Tensor& found_inf) {
  static Variants variants;
  StepCall call{};
  call.rate = lr;
  call.weight_decay = weight_decay;
  call.momentum = momentum;
  call.dampening = dampening;
  call.maximize = maximize;
  call.nesterov = nesterov;
  call.first = is_first_step;
  if (momentum != 0)
    take_steps("fused_sgd", variants, 1, {self, grads, momentum_buffer_list}, {}, call, grad_scale, found_inf,
               [](const std::string& types) { return join_text("sgd_stepped<", types, ", true>"); });
  else
    take_steps("fused_sgd", variants, 0, {self, grads}, {}, call, grad_scale, found_inf,
               [](const std::string& types) { return join_text("sgd_stepped<", types, ", false>"); });
}

void fused_adagrad(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps,
                   double lr, double lr_decay, double weight_decay, double eps, bool maximize,
                   const Tensor& grad_scale, const Tensor& found_inf) {
  static Variants variants;
  StepCall call{};
  call.rate = lr;
  call.rate_decay = lr_decay;
  call.weight_decay = weight_decay;
  call.eps = eps;
  call.maximize = maximize;
  take_steps("fused_adagrad", variants, 0, {self, grads, state_sums}, state_steps, call, grad_scale,
             found_inf, [](const std::string& types) { return join_text("adagrad_stepped<", types, ">"); });
}

void unscale(TensorList self, const Tensor& found_inf, const Tensor& inv_scale) {
  if (self.empty()) return;
  MT_CHECK(found_inf.dtype() == DType::float32, "found_inf must be a float tensor, got ",
           info(found_inf.dtype()).name);
  static Variants variants;
  const FloatAt factor(inv_scale);
  over_lists("_amp_foreach_non_finite_check_and_unscale_", {self}, {}, [&](Gathered& gathered) {
    const Place place(found_inf);
    const Loaded& program = find_program(
        variants, key_of({int(gathered.own)}), place, "optimizer.h", 1, [&]() -> std::vector<FamilyKernel> {
          return {{join_text("unscaled<", type_text(gathered.own), ">"), "UnscaleCall"}};
        });
    UnscaleCall call{};
    call.lists = gathered.lists;
    call.found_inf = static_cast<float*>(memory(found_inf));
    call.factor = factor.get();
    launch_with(program.entries[0], "unscale", place.index(), {gathered.blocks()}, {256}, 0, call);
  });
}

void update_scale(const Tensor& self, const Tensor& growth_tracker, const Tensor& found_inf,
                  double scale_growth_factor, double scale_backoff_factor, int64_t growth_interval) {
  MT_CHECK(self.dtype() == DType::float32, "current_scale must be a float tensor.");
  MT_CHECK(growth_tracker.dtype() == DType::int32, "growth_tracker must be an int tensor.");
  const Place place(self);
  static Variants variants;
  const Loaded& program =
      find_program(variants, key_of({0}), place, "optimizer.h", 1,
                   []() -> std::vector<FamilyKernel> { return {{"scale_updated", "ScaleCall", 32}}; });
  const FloatAt found(found_inf);
  ScaleCall call{};
  call.scale = static_cast<float*>(memory(self));
  call.successes = static_cast<int*>(memory(growth_tracker));
  call.found_inf = found.get();
  call.growth = scale_growth_factor;
  call.backoff = scale_backoff_factor;
  call.interval = int(growth_interval);
  launch_with(program.entries[0], "update_scale", place.index(), {1}, {1}, 0, call);
}

}  // namespace mt::cuda
