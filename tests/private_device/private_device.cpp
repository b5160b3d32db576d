#include "private_device.h"

#include <vector>

#include "backends/cpu/generator.h"
#include "core/dispatch.h"
#include "core/observe_task.h"
#include "generated/ops/all_tables.h"

namespace mt::private_device {
namespace {

// What a kernel's arguments are on the stream's thread: the same memory as tensors of the host. The allocator keeps
// the memory in the order of the stream, so nothing has to hold it.
class HostArguments {
 public:
  const Tensor* first = nullptr;  // of the device's

  Tensor view(const Tensor& tensor) {
    if (!tensor.defined() || tensor.device().is_cpu()) return tensor;
    for (const auto& [original, made] : views_)
      if (original == tensor.impl()) return made;  // kernels ask whether two arguments are the same tensor
    const Storage& storage = tensor.storage();
    Tensor made = tensor_over(wrap_storage({DeviceType::cpu}, storage.data, storage.nbytes, nullptr, nullptr),
                              tensor.dtype(), tensor.sizes(), tensor.strides(), tensor.offset());
    views_.emplace_back(tensor.impl(), made);
    where_ = tensor.device();
    return made;
  }
  Device where() const { return where_; }

 private:
  std::vector<std::pair<const TensorImpl*, Tensor>> views_;
  Device where_;
};

// An argument that outlives the call, and the argument again for the kernel.
template <class A>
struct Held {
  A value;
  Held(const A& given, HostArguments&) : value(given) {}
  const A& get() { return value; }
};
template <>
struct Held<Tensor> {
  Tensor value;
  Held(const Tensor& given, HostArguments& host) : value(host.view(given)) {}
  const Tensor& get() { return value; }
};
template <>
struct Held<TensorList> {
  std::vector<Tensor> values;
  Held(TensorList given, HostArguments& host) {
    for (const Tensor& tensor : given) values.push_back(host.view(tensor));
  }
  TensorList get() { return values; }
};
template <class T>
struct Held<std::span<const T>> {
  std::vector<T> values;
  Held(std::span<const T> given, HostArguments&) : values(given.begin(), given.end()) {}
  std::span<const T> get() { return values; }
};
template <>
struct Held<std::string_view> {
  std::string text;
  Held(std::string_view given, HostArguments&) : text(given) {}
  std::string_view get() { return text; }
};
// Numbers come from the device's own seed and counter, through the CPU's engine.
template <>
struct Held<Generator*> {
  std::shared_ptr<cpu::CpuGenerator> own;
  Held(Generator* generator, HostArguments& host) {
    const devices::Numbers numbers = devices::take_numbers(generator, *host.first);
    own = std::make_shared<cpu::CpuGenerator>(numbers.seed + numbers.offset * 0x9E3779B97F4A7C15);
  }
  Generator* get() { return own.get(); }
};

void enqueue(const char* name, Device device, std::function<void()> work) {
  void* stream = current_stream(device);
  TaskScope scope({TaskKind::kernel, "hostLaunch", name, device, stream});
  driver().enqueue(StreamHandle(stream), std::move(work));
}

template <class A>
void find_tensor(const A&, const Tensor*&) {}
void find_tensor(const Tensor& tensor, const Tensor*& found) {
  if (!found && tensor.defined() && tensor.device().type == kSlot) found = &tensor;
}

// Compiled once for all tables of a signature.
template <class... P>
[[gnu::noinline]] void launch(const KernelTable<void(P...)>& table, P... given) {
  HostArguments host;
  (find_tensor(given, host.first), ...);
  std::function<void()> run = [... held = Held<std::remove_cvref_t<P>>(given, host), &table]() mutable {
    table.cell[int(DeviceType::cpu)](held.get()...);
  };
  enqueue(table.name, host.where(), std::move(run));
}

template <auto* table, class Signature>
struct OnStream;
template <auto* table, class... P>
struct OnStream<table, void(P...)> {
  static void run(P... given) { launch<P...>(*table, given...); }
};

template <auto* table, class Signature>
void fill_cell(KernelTable<Signature>& filled) {
  if (filled.cell[int(DeviceType::cpu)]) filled.cell[int(kSlot)] = &OnStream<table, Signature>::run;
}

}  // namespace

PrivateAccelerator& device() {
  static auto* made = new PrivateAccelerator;
  return *made;
}

DeviceProperties PrivateAccelerator::properties(int) { return {"Host", kCapacity, 1}; }

void PrivateAccelerator::copy_on_device(const Tensor& from, const Tensor& to) {
  HostArguments host;
  const Tensor source = host.view(from), target = host.view(to);
  enqueue("copy", to.device(), [source, target] { copy_between(source, target, false); });
}

void register_private_device() {
#define X(name) fill_cell<&table::name>(table::name);
  MT_FOR_EACH_TABLE(X)
#undef X
  register_accelerator(kSlot, "privateuseone", device());
}

}  // namespace mt::private_device
