#include "backends/npu/communicator.h"

#include <algorithm>
#include <cstring>

#include "backends/npu/npu_driver.h"
#include "base/error.h"
#include "core/host_lock.h"
#include "core/observe_task.h"
#include "devices/launch_log.h"

namespace mt::npu {
namespace {

// How elements travel: those that HCCL has no type for as parts that it has.
struct Wire {
  HcclDataType type;
  int parts = 1;           // of an element
  bool arithmetic = true;  // sums of the parts are sums of the elements
};

Wire wire(DType dtype) {
  switch (dtype) {
    case DType::uint8:
    case DType::boolean: return {HCCL_DATA_TYPE_UINT8};
    case DType::int8: return {HCCL_DATA_TYPE_INT8};
    case DType::int16: return {HCCL_DATA_TYPE_INT16};
    case DType::int32: return {HCCL_DATA_TYPE_INT32};
    case DType::int64: return {HCCL_DATA_TYPE_INT64};
    case DType::uint16: return {HCCL_DATA_TYPE_UINT16};
    case DType::uint32: return {HCCL_DATA_TYPE_UINT32};
    case DType::uint64: return {HCCL_DATA_TYPE_UINT64};
    case DType::float16: return {HCCL_DATA_TYPE_FP16};
    case DType::bfloat16: return {HCCL_DATA_TYPE_BFP16};
    case DType::float32: return {HCCL_DATA_TYPE_FP32};
    case DType::float64: return {HCCL_DATA_TYPE_FP64};
    case DType::complex32: return {HCCL_DATA_TYPE_FP16, 2};
    case DType::complex64: return {HCCL_DATA_TYPE_FP32, 2};
    case DType::complex128: return {HCCL_DATA_TYPE_FP64, 2};
    default: return {HCCL_DATA_TYPE_UINT8, 1, false};  // numbers of eight bits, which only travel
  }
}

// What the header's inline function makes: every field says that it is not set.
HcclCommConfig configuration(const CommunicatorOptions& options) {
  HcclCommConfig config{};
  const size_t size = sizeof config;
  const uint32_t words[] = {HCCL_COMM_CONFIG_MAGIC_WORD, HCCL_COMM_CONFIG_VERSION};
  std::memcpy(config.reserved, &size, sizeof size);
  std::memcpy(config.reserved + sizeof size, words, sizeof words);
  config.hcclBufferSize = options.buffer_mib ? options.buffer_mib : HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET;
  config.hcclDeterministic = HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET;
  const size_t length = std::min(options.name.size(), sizeof config.hcclCommName - 1);
  std::memcpy(config.hcclCommName, options.name.data(), length);
  config.hcclOpExpansionMode = HCCL_COMM_DEFAULT_OP_EXPANSION_MODE;
  config.hcclRdmaTrafficClass = HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET;
  config.hcclRdmaServiceLevel = HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET;
  config.hcclExecTimeOut = options.exec_timeout > 0
                               ? int32_t(std::min<int64_t>(options.exec_timeout, INT32_MAX))
                               : HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET;
  config.hcclQos = HCCL_COMM_QOS_CONFIG_NOT_SET;
  config.hcclSymWinMaxMemSizePerRank = HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE;
  config.hcclChannelSqDepth = HCCL_COMM_SQ_DEPTH_CONFIG_NOT_SET;
  return config;
}

}  // namespace

std::string Communicator::new_root_info(int device) {
  activate(device);
  HcclRootInfo info{};
  check_hccl(hccl().HcclGetRootInfo(&info), "HcclGetRootInfo");
  return {info.internal, sizeof info.internal};
}

Communicator::Communicator(int device, const std::string& root_info, uint32_t ranks, uint32_t rank,
                           const CommunicatorOptions& options)
    : device_(device), ranks_(ranks), rank_(rank), name_(options.name) {
  HcclRootInfo info{};
  MT_CHECK_AS(value, root_info.size() == sizeof info.internal, "a root info has ", sizeof info.internal,
              " bytes, got ", root_info.size());
  std::memcpy(info.internal, root_info.data(), root_info.size());
  activate(device);
  if (hccl().HcclCommInitRootInfoConfig) {
    const HcclCommConfig config = configuration(options);
    check_hccl(hccl().HcclCommInitRootInfoConfig(ranks, &info, rank, &config, &comm_),
               "HcclCommInitRootInfoConfig");
  } else {
    check_hccl(hccl().HcclCommInitRootInfo(ranks, &info, rank, &comm_), "HcclCommInitRootInfo");
  }
  watch_.emplace(device, [this](bool told) { report_failure(told); });
}

void Communicator::close() {
  if (!comm_) return;
  watch_.reset();
  activate(device_);
  const HostWork without_lock(kLongWork);
  check_hccl(hccl().HcclCommDestroy(std::exchange(comm_, nullptr)), "HcclCommDestroy");
}

HcclComm Communicator::open() const {
  MT_CHECK(comm_, "the communicator was closed");
  return comm_;
}

HcclResult Communicator::async_error(std::string* text) const {
  HcclResult found = HCCL_SUCCESS;
  check_hccl(hccl().HcclGetCommAsyncError(open(), &found), "HcclGetCommAsyncError");
  if (found == HCCL_SUCCESS) return found;
  const char* message = acl().aclGetRecentErrMsg();
  *text =
      join_text(hccl().HcclGetErrorString(found), message && *message ? ": " : "", message ? message : "");
  return found;
}

std::string Communicator::problem() {
  std::string text;
  async_error(&text);
  return text;
}

void Communicator::report_failure(bool told) {
  std::string text;
  const HcclResult code = async_error(&text);
  if (code == HCCL_SUCCESS || std::exchange(reported_, true) || told) return;
  throw DeviceError(int(code), join_text("a collective of rank ", rank_, " of ", ranks_,
                                         name_.empty() ? "" : " in ", name_, " failed (error ", int(code),
                                         "), what it should have written is not valid: ", text));
}

Communicator::Buffer Communicator::buffer(const Tensor& tensor, const char* function) const {
  MT_CHECK(tensor.defined(), function, ": a tensor is missing");
  MT_CHECK(tensor.device() == (Device{kSlot, int8_t(device_)}), function, ": the tensor is on ",
           to_string(tensor.device()), ", the communicator on ", to_string(Device{kSlot, int8_t(device_)}));
  MT_CHECK(tensor.is_contiguous(), function, ": the tensor is not contiguous");
  const Wire how = wire(tensor.dtype());
  return {tensor.data(), uint64_t(tensor.numel()) * uint64_t(how.parts), how.type};
}

HcclReduceOp Communicator::reduction(const Tensor& tensor, HcclReduceOp op, const char* function) const {
  const Wire how = wire(tensor.dtype());
  MT_CHECK_AS(type, how.arithmetic, function, " cannot reduce ", info(tensor.dtype()).name,
              "; convert it to a wider type first");
  MT_CHECK_AS(type, how.parts == 1 || op == HCCL_REDUCE_SUM, function, " can only sum ",
              info(tensor.dtype()).name);
  if (tensor.dtype() != DType::boolean) return op;
  // Of truth values the sum is "any", the product is "all".
  return op == HCCL_REDUCE_SUM ? HCCL_REDUCE_MAX : op == HCCL_REDUCE_PROD ? HCCL_REDUCE_MIN : op;
}

template <class Call>
void Communicator::launch(const char* function, uint64_t bytes, const Call& call) {
  const HcclComm comm = open();
  activate(device_);
  void* stream = current_stream(device_);
  {
    TaskScope scope(
        {TaskKind::kernel, function, function, {kSlot, int8_t(device_)}, stream, nullptr, int64_t(bytes)});
    HcclResult code;
    {
      const HostWork without_lock(kLongWork);  // the first one waits for the other processes
      code = call(comm, stream);
    }
    check_hccl(code, function);
  }
  devices::note_launch(function, stream);
  if (npu().launch_blocking() && !npu().capture_of(device_, stream)) [[unlikely]]
    npu().wait_for_data(device_, stream);
}

void Communicator::all_reduce(const Tensor& tensor, HcclReduceOp op) {
  const Buffer data = buffer(tensor, "HcclAllReduce");
  const HcclReduceOp how = reduction(tensor, op, "HcclAllReduce");
  if (data.count == 0) return;
  launch("HcclAllReduce", tensor.nbytes(), [&](HcclComm comm, void* stream) {
    return hccl().HcclAllReduce(data.data, data.data, data.count, data.type, how, comm, stream);
  });
}

void Communicator::reduce(const Tensor& tensor, uint32_t root, HcclReduceOp op) {
  const Buffer data = buffer(tensor, "HcclReduce");
  const HcclReduceOp how = reduction(tensor, op, "HcclReduce");
  if (data.count == 0) return;
  launch("HcclReduce", tensor.nbytes(), [&](HcclComm comm, void* stream) {
    return hccl().HcclReduce(data.data, data.data, data.count, data.type, how, root, comm, stream);
  });
}

void Communicator::broadcast(const Tensor& tensor, uint32_t root) {
  const Buffer data = buffer(tensor, "HcclBroadcast");
  if (data.count == 0) return;
  launch("HcclBroadcast", tensor.nbytes(), [&](HcclComm comm, void* stream) {
    return hccl().HcclBroadcast(data.data, data.count, data.type, root, comm, stream);
  });
}

void Communicator::all_gather(const Tensor& out, const Tensor& tensor) {
  const Buffer data = buffer(tensor, "HcclAllGather"), room = buffer(out, "HcclAllGather");
  MT_CHECK(room.count == data.count * ranks_ && room.type == data.type, "HcclAllGather: ", out.numel(),
           " elements do not have room for ", ranks_, " times ", tensor.numel());
  if (data.count == 0) return;
  launch("HcclAllGather", out.nbytes(), [&](HcclComm comm, void* stream) {
    return hccl().HcclAllGather(data.data, room.data, data.count, data.type, comm, stream);
  });
}

void Communicator::reduce_scatter(const Tensor& out, const Tensor& tensor, HcclReduceOp op) {
  const Buffer data = buffer(tensor, "HcclReduceScatter"), room = buffer(out, "HcclReduceScatter");
  const HcclReduceOp how = reduction(tensor, op, "HcclReduceScatter");
  MT_CHECK(data.count == room.count * ranks_ && room.type == data.type, "HcclReduceScatter: ", tensor.numel(),
           " elements are not ", ranks_, " times ", out.numel());
  if (room.count == 0) return;
  launch("HcclReduceScatter", tensor.nbytes(), [&](HcclComm comm, void* stream) {
    return hccl().HcclReduceScatter(data.data, room.data, room.count, data.type, how, comm, stream);
  });
}

void Communicator::scatter(const Tensor& out, const Tensor& tensor, uint32_t root) {
  const Buffer room = buffer(out, "HcclScatter");
  Buffer data{nullptr, 0, room.type};
  if (tensor.defined()) {
    data = buffer(tensor, "HcclScatter");
    MT_CHECK(data.count == room.count * ranks_ && room.type == data.type, "HcclScatter: ", tensor.numel(),
             " elements are not ", ranks_, " times ", out.numel());
  }
  if (room.count == 0) return;
  launch("HcclScatter", out.nbytes(), [&](HcclComm comm, void* stream) {
    return hccl().HcclScatter(data.data, room.data, room.count, room.type, root, comm, stream);
  });
}

namespace {

struct Parts {
  std::vector<uint64_t> counts, begins;
};

Parts parts(const Tensor& tensor, const std::vector<int64_t>& counts, uint32_t ranks, const char* what) {
  MT_CHECK(counts.size() == ranks, "HcclAlltoAllV: ", counts.size(), " ", what, " counts for ", ranks,
           " ranks");
  Parts result{std::vector<uint64_t>(ranks), std::vector<uint64_t>(ranks)};
  const uint64_t each = uint64_t(wire(tensor.dtype()).parts);
  uint64_t total = 0;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    MT_CHECK(counts[rank] >= 0, "HcclAlltoAllV: an ", what, " count is ", counts[rank]);
    result.begins[rank] = total;
    result.counts[rank] = uint64_t(counts[rank]) * each;
    total += result.counts[rank];
  }
  MT_CHECK(total == uint64_t(tensor.numel()) * each, "HcclAlltoAllV: the ", what, " counts do not add up to ",
           tensor.numel());
  return result;
}

}  // namespace

void Communicator::all_to_all(const Tensor& out, const Tensor& tensor, const std::vector<int64_t>& out_counts,
                              const std::vector<int64_t>& counts) {
  const Buffer data = buffer(tensor, "HcclAlltoAllV"), room = buffer(out, "HcclAlltoAllV");
  const Parts sends = parts(tensor, counts, ranks_, "input"),
              receives = parts(out, out_counts, ranks_, "output");
  launch("HcclAlltoAllV", tensor.nbytes(), [&](HcclComm comm, void* stream) {
    return hccl().HcclAlltoAllV(data.data, sends.counts.data(), sends.begins.data(), data.type, room.data,
                                receives.counts.data(), receives.begins.data(), room.type, comm, stream);
  });
}

void Communicator::send(const Tensor& tensor, uint32_t peer) {
  const Buffer data = buffer(tensor, "HcclSend");
  launch("HcclSend", tensor.nbytes(), [&](HcclComm comm, void* stream) {
    return hccl().HcclSend(data.data, data.count, data.type, peer, comm, stream);
  });
}

void Communicator::receive(const Tensor& tensor, uint32_t peer) {
  const Buffer data = buffer(tensor, "HcclRecv");
  launch("HcclRecv", tensor.nbytes(), [&](HcclComm comm, void* stream) {
    return hccl().HcclRecv(data.data, data.count, data.type, peer, comm, stream);
  });
}

void Communicator::barrier() {
  launch("HcclBarrier", 0, [&](HcclComm comm, void* stream) { return hccl().HcclBarrier(comm, stream); });
}

}  // namespace mt::npu
