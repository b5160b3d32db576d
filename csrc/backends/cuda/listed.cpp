#include "backends/cuda/listed.h"

#include <algorithm>
#include <cstring>

namespace mt::cuda {
namespace {

PerThread<KeptBack> t_kept_back;

// Of dense tensors.
bool overlap(const Tensor& a, const Tensor& b) {
  const auto bytes = [](const Tensor& t) { return size_t(t.numel()) * itemsize(t.dtype()); };
  const auto *x = static_cast<const char*>(a.data()), *y = static_cast<const char*>(b.data());
  return x < y + bytes(b) && y < x + bytes(a);
}

}  // namespace

KeptBack& kept_back() { return *t_kept_back; }

bool KeptBack::fits(Function function, Device device, void* stream, const Numbers& numbers,
                    std::span<const Tensor* const> tensors) const {
  if (call_.number == kMostListed || function != function_ || device != device_ || stream != stream_ ||
      std::memcmp(&numbers, &call_.numbers, sizeof numbers) != 0)
    return false;
  return std::ranges::none_of(operands_, [&](const Tensor& t) { return overlap(t, *tensors[0]); }) &&
         std::ranges::none_of(results_, [&](const Tensor& result) {
           return std::ranges::any_of(tensors, [&](const Tensor* t) { return overlap(result, *t); });
         });
}

void KeptBack::add(Function function, const char* name, const DenseCall& call, int64_t elements,
                   std::span<const Tensor* const> tensors) {
  const Device device = tensors[0]->device();
  void* stream = current_stream(device);
  if (call_.number > 0 && !fits(function, device, stream, call.numbers, tensors)) launch();
  if (call_.number == 0) {
    function_ = function;
    name_ = name;
    device_ = device;
    stream_ = stream;
    call_.numbers = call.numbers;
  }
  const int at = call_.number++;
  std::ranges::copy(call.data, call_.data[at]);
  call_.counts[at] = call.count;
  call_.blocks[at + 1] = call_.blocks[at] + int((call.count + elements - 1) / elements);
  results_.push_back(*tensors[0]);
  for (const Tensor* operand : tensors.subspan(1)) operands_.push_back(*operand);
}

void KeptBack::launch() {
  if (call_.number == 0) [[likely]]
    return;
  const unsigned blocks = unsigned(call_.blocks[call_.number]);
  ListedCall call = call_;
  call_.number = 0;  // nothing is kept back from here on, whatever becomes of the launch
  const std::vector<Tensor> results = std::move(results_), operands = std::move(operands_);
  results_.clear();
  operands_.clear();
  launch_on(stream_, function_, name_, device_.index, {blocks}, {kElementwiseThreads}, 0, &call, sizeof call);
}

void KeptBack::end() {
  if (--depth_ == 0) launch();
}

}  // namespace mt::cuda
