#include "devices/communicator.h"

#include "base/error.h"
#include "core/host_lock.h"
#include "core/observe_task.h"
#include "devices/launch_log.h"

namespace mt::devices {

namespace {

constexpr int kGivenUp = -1;  // no library's code

}  // namespace

void Communicator::connected() {
  open_ = true;
  watch_.emplace(device_, [this](bool told) { report_failure(told); });
}

void Communicator::close(bool orderly) {
  watch_.reset();
  const HostWork without_lock(kLongWork);
  std::lock_guard guard(mutex_);
  if (!std::exchange(open_, false)) return;
  accelerator_.activate(device_);
  end(orderly);
}

void Communicator::abort(const std::string& why) {
  const HostWork without_lock(kLongWork);
  std::lock_guard guard(mutex_);
  if (!std::exchange(open_, false)) return;
  given_up_ = why;
  accelerator_.activate(device_);
  end(false);
}

int Communicator::found_failure(std::string* text) {
  const HostWork without_lock(kLongWork);  // who ends it may hold the mutex for long
  std::lock_guard guard(mutex_);
  if (!given_up_.empty()) {
    *text = given_up_;
    return kGivenUp;
  }
  return open_ ? failure(text) : 0;
}

std::string Communicator::problem() {
  std::string text;
  found_failure(&text);
  return text;
}

void Communicator::report_failure(bool told) {
  std::string text;
  const int code = found_failure(&text);
  if (code == 0 || std::exchange(reported_, true) || told) return;
  throw DeviceError(
      code, join_text("a collective of rank ", rank_, " of ", ranks_, name_.empty() ? "" : " in ", name_,
                      " failed (error ", code, "), what it should have written is not valid: ", text));
}

Communicator::Buffer Communicator::buffer(const Tensor& tensor, const char* function) const {
  const Device here{accelerator_.slot(), int8_t(device_)};
  MT_CHECK(tensor.defined(), function, ": a tensor is missing");
  MT_CHECK(tensor.device() == here, function, ": the tensor is on ", to_string(tensor.device()),
           ", the communicator on ", to_string(here));
  MT_CHECK(tensor.is_contiguous(), function, ": the tensor is not contiguous");
  const Wire how = wire(tensor.dtype());
  return {tensor.data(), uint64_t(tensor.numel()) * uint64_t(how.parts), how.type,
          tensor.itemsize() / size_t(how.parts)};
}

Reduction Communicator::reduction(const Tensor& tensor, Reduction op, const char* function) const {
  const Wire how = wire(tensor.dtype());
  MT_CHECK_AS(type, how.arithmetic, function, " cannot reduce ", info(tensor.dtype()).name,
              "; convert it to a wider type first");
  MT_CHECK_AS(type, how.parts == 1 || op == Reduction::sum, function, " can only sum ",
              info(tensor.dtype()).name);
  if (tensor.dtype() != DType::boolean) return op;
  // Of truth values the sum is "any", the product is "all".
  return op == Reduction::sum ? Reduction::max : op == Reduction::product ? Reduction::min : op;
}

template <class Call>
void Communicator::launch(const char* function, uint64_t bytes, const Call& call) {
  MT_CHECK(open_, given_up_.empty() ? "the communicator was closed" : given_up_);
  accelerator_.activate(device_);
  const Device here{accelerator_.slot(), int8_t(device_)};
  void* stream = current_stream(here);
  accelerator_.hand_over(device_);
  {
    TaskScope scope({TaskKind::kernel, function, function, here, stream, nullptr, int64_t(bytes)});
    const HostWork without_lock(kLongWork);  // the first one waits for the other processes
    call(stream);
  }
  note_launch(function, stream);
  if (accelerator_.launch_blocking() && !accelerator_.capture_of(device_, stream)) [[unlikely]]
    accelerator_.wait_for_data(device_, stream);
}

void Communicator::all_reduce(const Tensor& tensor, Reduction op) {
  const char* function = names().all_reduce;
  const Buffer data = buffer(tensor, function);
  const Reduction how = reduction(tensor, op, function);
  if (data.count == 0) return;
  launch(function, tensor.nbytes(), [&](void* stream) { call_all_reduce(data, how, stream); });
}

void Communicator::reduce(const Tensor& tensor, uint32_t root, Reduction op) {
  const char* function = names().reduce;
  const Buffer data = buffer(tensor, function);
  const Reduction how = reduction(tensor, op, function);
  if (data.count == 0) return;
  launch(function, tensor.nbytes(), [&](void* stream) { call_reduce(data, how, root, stream); });
}

void Communicator::broadcast(const Tensor& tensor, uint32_t root) {
  const char* function = names().broadcast;
  const Buffer data = buffer(tensor, function);
  if (data.count == 0) return;
  launch(function, tensor.nbytes(), [&](void* stream) { call_broadcast(data, root, stream); });
}

void Communicator::all_gather(const Tensor& out, const Tensor& tensor) {
  const char* function = names().all_gather;
  const Buffer data = buffer(tensor, function), room = buffer(out, function);
  MT_CHECK(room.count == data.count * ranks_ && room.type == data.type, function, ": ", out.numel(),
           " elements do not have room for ", ranks_, " times ", tensor.numel());
  if (data.count == 0) return;
  launch(function, out.nbytes(), [&](void* stream) { call_all_gather(room, data, stream); });
}

void Communicator::reduce_scatter(const Tensor& out, const Tensor& tensor, Reduction op) {
  const char* function = names().reduce_scatter;
  const Buffer data = buffer(tensor, function), room = buffer(out, function);
  const Reduction how = reduction(tensor, op, function);
  MT_CHECK(data.count == room.count * ranks_ && room.type == data.type, function, ": ", tensor.numel(),
           " elements are not ", ranks_, " times ", out.numel());
  if (room.count == 0) return;
  launch(function, tensor.nbytes(), [&](void* stream) { call_reduce_scatter(room, data, how, stream); });
}

void Communicator::scatter(const Tensor& out, const Tensor& tensor, uint32_t root) {
  const char* function = names().scatter;
  const Buffer room = buffer(out, function);
  Buffer data{nullptr, 0, room.type, room.size};
  if (tensor.defined()) {
    data = buffer(tensor, function);
    MT_CHECK(data.count == room.count * ranks_ && room.type == data.type, function, ": ", tensor.numel(),
             " elements are not ", ranks_, " times ", out.numel());
  }
  if (room.count == 0) return;
  launch(function, out.nbytes(), [&](void* stream) { call_scatter(room, data, root, stream); });
}

Communicator::Parts Communicator::parts(const Tensor& tensor, const std::vector<int64_t>& counts,
                                        const char* what) const {
  const char* function = names().all_to_all;
  MT_CHECK(counts.size() == ranks_, function, ": ", counts.size(), " ", what, " counts for ", ranks_,
           " ranks");
  Parts result{std::vector<uint64_t>(ranks_), std::vector<uint64_t>(ranks_)};
  const uint64_t each = uint64_t(wire(tensor.dtype()).parts);
  uint64_t total = 0;
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    MT_CHECK(counts[rank] >= 0, function, ": an ", what, " count is ", counts[rank]);
    result.begins[rank] = total;
    result.counts[rank] = uint64_t(counts[rank]) * each;
    total += result.counts[rank];
  }
  MT_CHECK(total == uint64_t(tensor.numel()) * each, function, ": the ", what, " counts do not add up to ",
           tensor.numel());
  return result;
}

void Communicator::all_to_all(const Tensor& out, const Tensor& tensor, const std::vector<int64_t>& out_counts,
                              const std::vector<int64_t>& counts) {
  const char* function = names().all_to_all;
  const Buffer data = buffer(tensor, function), room = buffer(out, function);
  const Parts sends = parts(tensor, counts, "input"), receives = parts(out, out_counts, "output");
  launch(function, tensor.nbytes(),
         [&](void* stream) { call_all_to_all(room, receives, data, sends, stream); });
}

void Communicator::send(const Tensor& tensor, uint32_t peer) {
  const Buffer data = buffer(tensor, names().send);
  launch(names().send, tensor.nbytes(), [&](void* stream) { call_send(data, peer, stream); });
}

void Communicator::receive(const Tensor& tensor, uint32_t peer) {
  const Buffer data = buffer(tensor, names().receive);
  launch(names().receive, tensor.nbytes(), [&](void* stream) { call_receive(data, peer, stream); });
}

void Communicator::barrier() {
  launch(names().barrier, 0, [&](void* stream) { call_barrier(stream); });
}

}  // namespace mt::devices
