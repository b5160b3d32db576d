#include "backends/npu/communicator.h"

#include <algorithm>
#include <cstring>

#include "backends/npu/acl_api.h"
#include "backends/npu/npu_driver.h"
#include "base/error.h"

namespace mt::npu {
namespace {

HcclReduceOp numbered(devices::Reduction op) { return HcclReduceOp(op); }
HcclDataType typed(int type) { return HcclDataType(type); }

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
    : devices::Communicator(npu(), device, ranks, rank, options.name) {
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
  connected();
}

void Communicator::end(bool) { check_hccl(hccl().HcclCommDestroy(comm_), "HcclCommDestroy"); }

int Communicator::failure(std::string* text) {
  HcclResult found = HCCL_SUCCESS;
  check_hccl(hccl().HcclGetCommAsyncError(comm_, &found), "HcclGetCommAsyncError");
  if (found == HCCL_SUCCESS) return 0;
  const char* message = acl().aclGetRecentErrMsg();
  *text =
      join_text(hccl().HcclGetErrorString(found), message && *message ? ": " : "", message ? message : "");
  return int(found);
}

const Communicator::Names& Communicator::names() const {
  static const Names all{"HcclAllReduce",     "HcclReduce",  "HcclBroadcast", "HcclAllGather",
                         "HcclReduceScatter", "HcclScatter", "HcclAlltoAllV", "HcclSend",
                         "HcclRecv",          "HcclBarrier"};
  return all;
}

Communicator::Wire Communicator::wire(DType dtype) const {
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

void Communicator::call_all_reduce(const Buffer& data, devices::Reduction op, void* stream) {
  check_hccl(
      hccl().HcclAllReduce(data.data, data.data, data.count, typed(data.type), numbered(op), comm_, stream),
      names().all_reduce);
}

void Communicator::call_reduce(const Buffer& data, devices::Reduction op, uint32_t root, void* stream) {
  check_hccl(hccl().HcclReduce(data.data, data.data, data.count, typed(data.type), numbered(op), root, comm_,
                               stream),
             names().reduce);
}

void Communicator::call_broadcast(const Buffer& data, uint32_t root, void* stream) {
  check_hccl(hccl().HcclBroadcast(data.data, data.count, typed(data.type), root, comm_, stream),
             names().broadcast);
}

void Communicator::call_all_gather(const Buffer& out, const Buffer& data, void* stream) {
  check_hccl(hccl().HcclAllGather(data.data, out.data, data.count, typed(data.type), comm_, stream),
             names().all_gather);
}

void Communicator::call_reduce_scatter(const Buffer& out, const Buffer& data, devices::Reduction op,
                                       void* stream) {
  check_hccl(
      hccl().HcclReduceScatter(data.data, out.data, out.count, typed(data.type), numbered(op), comm_, stream),
      names().reduce_scatter);
}

void Communicator::call_scatter(const Buffer& out, const Buffer& data, uint32_t root, void* stream) {
  check_hccl(hccl().HcclScatter(data.data, out.data, out.count, typed(out.type), root, comm_, stream),
             names().scatter);
}

void Communicator::call_all_to_all(const Buffer& out, const Parts& receives, const Buffer& data,
                                   const Parts& sends, void* stream) {
  check_hccl(
      hccl().HcclAlltoAllV(data.data, sends.counts.data(), sends.begins.data(), typed(data.type), out.data,
                           receives.counts.data(), receives.begins.data(), typed(out.type), comm_, stream),
      names().all_to_all);
}

void Communicator::call_send(const Buffer& data, uint32_t peer, void* stream) {
  check_hccl(hccl().HcclSend(data.data, data.count, typed(data.type), peer, comm_, stream), names().send);
}

void Communicator::call_receive(const Buffer& out, uint32_t peer, void* stream) {
  check_hccl(hccl().HcclRecv(out.data, out.count, typed(out.type), peer, comm_, stream), names().receive);
}

void Communicator::call_barrier(void* stream) {
  check_hccl(hccl().HcclBarrier(comm_, stream), names().barrier);
}

}  // namespace mt::npu
